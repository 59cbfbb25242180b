#include "report/page/sections.h"

#include <fmt/format.h>

namespace mirrortrain::report {
namespace {

std::string happened(const CallbackEvent& event) {
  if (event.callback == "early_stopping") return "ended the training";
  if (event.callback == "restore_best") return fmt::format("took the weights of epoch {}", event.best_epoch);
  if (event.learning_rate) return "set the learning rate to " + figure_text(*event.learning_rate);
  return "–";
}

}  // namespace

Markup section(const std::string& title, const Markup& content) {
  return markup("<section>\n<h2>{}</h2>\n{}</section>\n", title, content);
}

Markup absent(const std::string& title, const std::string& why) {
  return why.empty() ? Markup{} : section(title, markup("<p class=\"absent\">{}</p>\n", why));
}

Markup table(const Table& table) {
  const Markup kind = table.kind.empty() ? Markup{} : markup(" class=\"{}\"", table.kind);
  const Markup second = table.second_head.text.empty() ? Markup{} : markup("\n<tr>{}</tr>", table.second_head);
  return markup("<div class=\"{}\"><table{}>\n<thead><tr>{}</tr>{}</thead>\n<tbody>\n{}</tbody>\n{}</table></div>\n",
                table.place, kind, table.head, second, table.body, table.foot);
}

Markup notes_section(const std::vector<std::string>& notes) {
  Markup html;
  for (const std::string& note : notes) html += markup("<p class=\"note\">{}</p>\n", note);
  return html;
}

Markup facts_section(const std::vector<std::pair<std::string, std::string>>& facts) {
  Markup html;
  for (const auto& [name, value] : facts) html += markup("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  return markup("<dl class=\"facts\">\n{}</dl>\n", html);
}

Markup callbacks_section(const RunHistory& history) {
  if (history.callbacks.empty()) return {};
  Markup body;
  for (const CallbackEvent& event : history.callbacks) {
    body += markup(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><th>{}</th><td>{}</td><td>{} {}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td></tr>\n",
        event.epoch, with_thousands(event.step), event.callback, happened(event), event.split, event.metric,
        event.best ? figure_text(*event.best) : "–", event.best_epoch);
  }
  const Markup head = {
      "<th class=\"n\">epoch</th><th class=\"n\">step</th><th>callback</th><th>did</th><th>watched</th>"
      "<th class=\"n\">best</th><th class=\"n\">of epoch</th>"};
  return section("Callbacks", table({.head = head, .body = body}));
}

Markup mistakes_section(const RunPage& run) {
  if (run.mistakes.empty()) return absent("Worst mistakes", run.why_no_mistakes);
  Markup figures;
  for (const Mistake& mistake : run.mistakes) {
    figures += markup(
        "<figure><img src=\"{}\" alt=\"example {}\"><figcaption><b>{}</b> taken for <b>{}</b>"
        "<span>{:.4f} · example {}</span></figcaption></figure>\n",
        Markup{png_address(mistake.png)}, mistake.row, mistake.truth, mistake.predicted, mistake.probability,
        mistake.row);
  }
  return section("Worst mistakes",
                 markup("<p>Pictures taken for another class, the surest first: the true class, the one predicted and "
                        "its probability. Examples count from 0.</p>\n<div class=\"pictures\">\n{}</div>\n",
                        figures));
}

Markup layers_section(const RunPage& run) {
  if (run.layers.empty()) return absent("Layers", run.why_no_layers);
  Markup body;
  std::int64_t parameters = 0;
  for (const LayerRow& row : run.layers) {
    parameters += row.parameters;
    body += markup("<tr><th>{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n", row.name, row.type,
                   row.output_shape.text(), with_thousands(row.parameters));
  }
  const Markup foot =
      markup("<tfoot><tr><th colspan=\"3\">all, {} of them trainable</th><td class=\"n\">{}</td></tr></tfoot>\n",
             with_thousands(run.trainable_parameters), with_thousands(parameters));
  return section("Layers",
                 table({.head = {"<th>layer</th><th>type</th><th>output shape</th><th class=\"n\">parameters</th>"},
                        .body = body,
                        .foot = foot,
                        .place = "scroll tall"}));
}

Markup configuration_section(const RunPage& run) {
  if (run.configuration.empty()) return {};
  return section("Configuration", markup("<details><summary>every value, as the run had it</summary>\n"
                                         "<pre>{}</pre>\n</details>\n",
                                         run.configuration));
}

}  // namespace mirrortrain::report
