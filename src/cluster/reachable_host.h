#pragma once

#include <optional>
#include <string>

namespace mirrortrain {

/// A numeric address of this machine at which other machines reach it: what its own host name stands for, else the
/// first that an interface has, loopback and link-local ones aside, IPv4 before IPv6. Throws Error where there is none.
std::string reachable_host();

/// A port of `host`, a name or numeric address of this machine, at which nothing listens. Throws Error where nothing
/// can listen on that host.
int free_port(const std::string& host);

/// Why the name `host` stands for no address here ("node1: Name or service not known"), as the system says it; empty
/// where it does. Asks the system's resolver, which may take seconds.
std::string name_error(const std::string& host);

/// What a program that listens at host:port says to who asks it something in plain text, within a second each for the
/// connection and the words: "" where it says nothing; nullopt where nothing listens.
std::optional<std::string> greeting_at(const std::string& host, int port);

}  // namespace mirrortrain
