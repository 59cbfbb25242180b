// A configuration that extends another.
#include <doctest/doctest.h>

#include <fstream>

#include "config/example.h"
#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

class Files {
 public:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// What is read of a.yaml, as YAML; or the errors, without the folder's name.
  std::string read(const std::vector<std::string>& overrides = {}) const {
    std::string text = read_as_it_is(overrides);
    const std::string folder = path("");
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
      text.erase(at, folder.size());
    }
    return text;
  }

 private:
  std::string read_as_it_is(const std::vector<std::string>& overrides) const {
    config::Errors errors;
    try {
      config::Document document = config::load(path("a.yaml"), overrides, errors);
      const auto root = config::read<example::Root>(document, errors);
      return errors.empty() ? config::show(root, document) : errors.text();
    } catch (const UsageError& error) {  // of a base
      return error.what();
    }
  }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a file has the keys of what it extends, and its own win") {
  const Files files;
  files.write("base.yaml", "name: base\nseed: 3\nsave: {metric: loss, mode: max}\nlayers: [flatten]\n");
  files.write("a.yaml", "extends: base.yaml\nname: own\nsave: {metric: accuracy}\nlayers: [conv2d, flatten]\n");
  const std::string read = files.read();
  CAPTURE(read);
  CHECK(contains(read, "name: own"));
  CHECK(contains(read, "seed: 3"));
  CHECK(contains(read, "metric: accuracy"));
  CHECK(contains(read, "mode: max"));
  CHECK(contains(read, "conv2d"));
  CHECK_FALSE(contains(read, "extends"));
  CHECK(contains(files.read({"seed=9"}), "seed: 9"));
}

TEST_CASE("bases have bases, each named from the folder of its file") {
  const Files files;
  files.write("a.yaml", "extends: sub/b.yaml\n");
  files.write("sub/b.yaml", "extends: ../c.yaml\nname: b\n");
  files.write("c.yaml", "name: c\nseed: 5\n");
  const std::string read = files.read();
  CHECK(contains(read, "name: b"));
  CHECK(contains(read, "seed: 5"));
}

TEST_CASE("an error in a base names its line and the line that extends it") {
  const Files files;
  files.write("base.yaml", "seed: 1\nnmae: base\n");
  files.write("a.yaml", "seed: 2\nextends: base.yaml\n");
  CHECK(files.read() ==
        "base.yaml:2:1: nmae: unknown key; did you mean 'name'? (in the file extended at a.yaml:2:10)\n1 error");
}

TEST_CASE("what cannot be extended is reported at the line that extends it") {
  const Files files;
  files.write("a.yaml", "seed: 2\nextends: nothing.yaml\n");
  CHECK(contains(files.read(), "a.yaml:2:10: extends: nothing.yaml: cannot open the configuration: No such file"));
  files.write("a.yaml", "extends: [b, c]\n");
  CHECK(contains(files.read(), "a.yaml:1:10: extends: expected a file's name, found the list"));
  files.write("a.yaml", "extends: a.yaml\n");
  CHECK(contains(files.read(), "a.yaml:1:10: extends: 'a.yaml' extends itself"));
  files.write("a.yaml", "extends: b.yaml\n");
  files.write("b.yaml", "extends: a.yaml\n");
  CHECK(contains(files.read(), "b.yaml:1:10: extends: 'a.yaml' extends itself"));
  files.write("b.yaml", "seed: [\n");
  CHECK(contains(files.read(), "b.yaml:"));
  CHECK(contains(files.read(), "not valid YAML"));
}

TEST_CASE("options of a base's type do not stay beside another type") {
  const Files files;
  files.write("base.yaml", "optimizer: {type: sgd, momentum: 0.5, learning_rate: 0.25}\n");
  files.write("a.yaml", "extends: base.yaml\noptimizer: {type: adam}\n");
  const std::string other = files.read();
  CAPTURE(other);
  CHECK(contains(other, "type: adam"));
  CHECK(contains(other, "learning_rate: 0.001"));
  files.write("a.yaml", "extends: base.yaml\noptimizer: {type: sgd, momentum: 0.75}\n");
  const std::string same = files.read();
  CHECK(contains(same, "momentum: 0.75"));
  CHECK(contains(same, "learning_rate: 0.25"));
}
