#pragma once

#include <optional>
#include <string>

namespace mirrortrain {

/// A numeric address at which other machines can reach this one: the one that its host name resolves to, else the first
/// of its interfaces, except loopback and link-local ones, IPv4 before IPv6. Throws Error if there is none.
std::string reachable_host();

/// A free port of `host`, a name or numeric address of this machine. Throws Error if nothing can listen on that host.
int free_port(const std::string& host);

/// The system's reason why the name `host` does not resolve here ("node1: Name or service not known"); empty if it
/// does. Calls the system's resolver, which may take seconds.
std::string name_error(const std::string& host);

/// Why nothing can listen at host:port here, as far as the system says: another process has the port, the host is
/// another machine or unknown; empty if something can.
std::string listening_error(const std::string& host, int port);

/// The loopback address, as text, if `host` is a name that resolves here to loopback addresses alone, as a Debian
/// machine's own name does (127.0.1.1); empty for other names, and for addresses and "localhost", which say so.
std::string loopback_of_name(const std::string& host);

/// Whether `host` resolves here to an address outside this machine's loopback.
bool is_beyond_loopback(const std::string& host);

/// The answer of a program that listens at host:port to a plain-text request, waiting up to a second each for the
/// connection and the answer: "" if it does not answer; nullopt if nothing listens.
std::optional<std::string> greeting_at(const std::string& host, int port);

}  // namespace mirrortrain
