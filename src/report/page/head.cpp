#include "report/page/head.h"

#include "report/page/assets.h"

namespace mirrortrain::report {

Markup page_head(const std::string& title) {
  return markup(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{}</title>
<style>
{}</style>
</head>
)",
      Markup{std::string(kGenerator)}, title, Markup{std::string(kPageStyle)});
}

}  // namespace mirrortrain::report
