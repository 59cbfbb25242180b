#include "rpc/certificates.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mirrortrain::rpc {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Certificates = std::vector<Certificate>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Bytes = std::unique_ptr<BIO, Free<BIO_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using Chain = std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * chain) { sk_X509_free(chain); })>;
using Verification = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;

void require_pem(const std::string& key, const config::Path& file, const std::string& text, std::string_view what) {
  if (text.find("-----BEGIN ") != std::string::npos && text.find(fmt::format("{}-----", what)) != std::string::npos) {
    return;
  }
  throw UsageError(fmt::format("strategy.cluster.{}: {}: expected a PEM file, with a line -----BEGIN {}-----", key,
                               file.text, what));
}

/// All certificates in a text; none if any of them is damaged.
Certificates certificates_of(const std::string& text) {
  const Bytes bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Certificates found;
  while (X509* const one = PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr)) found.emplace_back(one);
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) found.clear();
  return found;
}

bool is_key_of(const std::string& text, X509* certificate) {
  const Bytes bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const auto no_phrase = [](char*, int, int, void*) { return 0; };
  const Key key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_phrase, nullptr));
  const bool fits = key && X509_check_private_key(certificate, key.get()) == 1;
  ERR_clear_error();
  return fits;
}

std::string text_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", parts) : "an unknown time";
}

/// Throws UsageError unless the authority has signed the first certificate, directly or through the certificates that
/// follow it.
void require_signed(const TlsOptions& files, const Certificates& own, const Certificates& authority, std::time_t now) {
  const Store store(X509_STORE_new());
  for (const Certificate& one : authority) X509_STORE_add_cert(store.get(), one.get());
  const Chain between(sk_X509_new_null());
  for (std::size_t i = 1; i < own.size(); ++i) sk_X509_push(between.get(), own[i].get());
  const Verification verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), own[0].get(), between.get());
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(verification.get());
  X509_VERIFY_PARAM_set_time(how, now);
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_PARTIAL_CHAIN);  // the authority need not be self-signed
  const bool is_signed = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (is_signed) return;

  const int error = X509_STORE_CTX_get_error(verification.get());
  const X509* const at = X509_STORE_CTX_get_current_cert(verification.get());
  const bool is_late = error == X509_V_ERR_CERT_HAS_EXPIRED, is_early = error == X509_V_ERR_CERT_NOT_YET_VALID;
  if (!is_late && !is_early) {
    throw UsageError(fmt::format(
        "strategy.cluster.tls.certificate: {0} is not signed by the authority in {1} ({2}); have it signed, "
        "or name the authority that has: openssl verify -CAfile {1} {0}",
        files.certificate.text, files.authority.text, X509_verify_cert_error_string(error)));
  }
  const bool is_authority =
      std::ranges::any_of(authority, [at](const Certificate& one) { return X509_cmp(one.get(), at) == 0; });
  const std::string place =
      fmt::format("strategy.cluster.tls.{}",
                  is_authority ? "authority: " + files.authority.text : "certificate: " + files.certificate.text);
  const std::string clock = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
  if (is_late) {
    throw UsageError(
        fmt::format("{} has expired: it was valid until {}, and this machine's clock says {}; make a new one", place,
                    text_of(X509_get0_notAfter(at)), clock));
  }
  throw UsageError(fmt::format("{} is not valid yet: it is from {}, and this machine's clock says {}; set the clock",
                               place, text_of(X509_get0_notBefore(at)), clock));
}

}  // namespace

void require_usable(const TlsOptions& files, const TlsTexts& texts, std::time_t now) {
  require_pem("tls.certificate", files.certificate, texts.certificate, "CERTIFICATE");
  require_pem("tls.key", files.key, texts.key, "PRIVATE KEY");
  require_pem("tls.authority", files.authority, texts.authority, "CERTIFICATE");
  if (texts.key.find("ENCRYPTED") != std::string::npos) {
    throw UsageError(
        fmt::format("strategy.cluster.tls.key: {} has a pass phrase, which nobody could enter; store it "
                    "without one: openssl pkey -in {} -out FILE",
                    files.key.text, files.key.text));
  }
  const Certificates own = certificates_of(texts.certificate), authority = certificates_of(texts.authority);
  for (const auto& [found, name, file] : {std::tuple(&own, "certificate", files.certificate.text),
                                          std::tuple(&authority, "authority", files.authority.text)}) {
    if (found->empty()) throw UsageError(fmt::format("strategy.cluster.tls.{}: {}: it is damaged", name, file));
  }
  if (!is_key_of(texts.key, own[0].get())) {
    throw UsageError(fmt::format("strategy.cluster.tls.key: {} does not belong to the certificate in {}, or is damaged",
                                 files.key.text, files.certificate.text));
  }
  require_signed(files, own, authority, now);
}

}  // namespace mirrortrain::rpc
