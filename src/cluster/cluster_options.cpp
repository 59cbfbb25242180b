#include "cluster/cluster_options.h"

#include "cluster/cluster_rules.h"

namespace mirrortrain {
namespace {

const ClusterKeys kOptionKeys = {"chief", "workers", "ps", "evaluator", "task", "task"};

/// The mistake in the cluster as a whole, if it is at `key`.
std::function<std::string(const ClusterOptions&)> mistake_at(std::string_view key) {
  return [key](const ClusterOptions& options) -> std::string {
    const std::optional<ClusterSpec> tasks = options.tasks();
    if (!tasks) {
      return key == "task" && options.task ? "names a task, but no workers are listed to which it could belong" : "";
    }
    const std::optional<ClusterMistake> mistake = mistake_in(*tasks, kOptionKeys, options.task.has_value());
    return mistake && mistake->key == key ? mistake->message : "";
  };
}

std::vector<std::string> texts(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.text());
  return texts;
}

std::optional<std::string> text_of(const std::optional<Address>& address) {
  return address ? std::optional(address->text()) : std::nullopt;
}

}  // namespace

config::Section<TlsOptions> TlsOptions::section() {
  return config::Section<TlsOptions>("TLS between the tasks: files in PEM format.")
      .key("certificate", &TlsOptions::certificate, "This task's certificate.", config::required)
      .key("key", &TlsOptions::key, "The certificate's private key.", config::required)
      .key("authority", &TlsOptions::authority, "The authority that signed every task's certificate.",
           config::required);
}

config::Section<TaskOptions> TaskOptions::section() {
  return config::Section<TaskOptions>("Which task of the cluster this process is.")
      .key("type", &TaskOptions::type, "The job of this process.")
      .key("index", &TaskOptions::index, "Its position in the job's list, from 0.", config::between(0, kMostTasks - 1));
}

config::Section<ClusterOptions> ClusterOptions::section() {
  return config::Section<ClusterOptions>(
             "The processes of a run on several machines, and how their connections are secured. TF_CONFIG, MPI, SLURM "
             "and torchrun come before the tasks given here.")
      .key("chief", &ClusterOptions::chief, "Address of the chief, host:port; null: worker 0 is the chief.")
      .key("workers", &ClusterOptions::workers, "Addresses of the workers, host:port.")
      .key("ps", &ClusterOptions::ps, "Addresses of the parameter servers, host:port.")
      .key("evaluator", &ClusterOptions::evaluator, "Address of the evaluator, host:port.")
      .key("task", &ClusterOptions::task, "Which task this process is.")
      .key("token_file", &ClusterOptions::token_file,
           "A file with a secret that all tasks share; a peer without it is refused.")
      .key("tls", &ClusterOptions::tls, "Certificates for the connections between the tasks.")
      .check("chief", mistake_at("chief"))
      .check("workers", mistake_at("workers"))
      .check("ps", mistake_at("ps"))
      .check("evaluator", mistake_at("evaluator"))
      .check("task", mistake_at("task"));
}

std::optional<ClusterSpec> ClusterOptions::tasks() const {
  if (!chief && !evaluator && workers.empty() && ps.empty()) return std::nullopt;
  ClusterSpec cluster;
  cluster.source = "strategy.cluster";
  cluster.chief = text_of(chief);
  cluster.workers = texts(workers);
  cluster.ps = texts(ps);
  cluster.evaluator = text_of(evaluator);
  if (task) cluster.task = {task->type, static_cast<int>(task->index)};
  return cluster;
}

}  // namespace mirrortrain

namespace mirrortrain::config {

bool Codec<Address>::accepts(const Value& value) { return value.is_scalar() && address_error(value.text()).empty(); }

void Codec<Address>::read(const Node& node, Address& address) {
  const std::size_t errors = node.errors().count();
  std::string text;
  detail::read_text(node, text);
  if (node.errors().count() != errors) return;
  const std::string error = address_error(text);
  if (!error.empty()) return node.error(error);
  address = Address::of(text);
}

Value Codec<Address>::show(const Address& address) { return Codec<std::string>::show(address.text()); }

Schema Codec<Address>::schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kText, rules); }

}  // namespace mirrortrain::config
