#!/usr/bin/env python3
"""Tries the page of `mirrortrain serve` in a headless Chromium with a telephone's screen, with runs of configs/.

    apt-get install chromium; pip install playwright
    tools/reference/check_page.py [--program build/mirrortrain] [--chromium /usr/bin/chromium]

Trains a picture folder, a table with words, a column of texts and a small network of pictures that are drawn, fills in
what the page asks for, and expects probabilities of the classes, no errors of the browser's, nothing wider than the
screen and no request to anyone but the server.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRAWN = """name: drawn
data: {global_batch_size: 32, train: {format: synthetic, examples: 64, shape: [28, 28, 1], classes: 10}}
model: {input_shape: [28, 28, 1], layers: [flatten, {dense: {units: 10, activation: softmax}}]}
loss: sparse_categorical_crossentropy
optimizer: adam
training: {epochs: 1}
"""


def fill_table(page):
    page.locator("fieldset", has_text="color").locator("input").fill("brown")
    page.locator("fieldset", has_text="place").locator("input").fill("feeder")
    page.locator(".fields input").nth(0).fill("15")


def fill_text(page):
    page.locator("textarea").fill("the plot was gripping and warm")


def choose_picture(page):
    page.locator("input[type=file]").set_input_files(ROOT / "data/tiny-shapes/test/triangle/02.png")


def draw(page):
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 150, steps=8)
    page.mouse.up()


RUNS = {"table-with-words": fill_table, "text-column": fill_text, "picture-folder": choose_picture, "drawn": draw}


def check(browser, options, folder, run, fill, token=None):
    command = [options.program, "-q", "serve", run, "--port", "0", *(["--token-file", token] if token else [])]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    address = server.stdout.readline().strip()
    context = browser.new_context(viewport={"width": 390, "height": 844}, device_scale_factor=2, has_touch=True, is_mobile=True)
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" and not token else None)
    page.on("request", lambda request: wrong.append("asked " + request.url) if not request.url.startswith((address, "data:", "blob:")) else None)
    page.goto(address)
    if token:
        page.wait_for_selector("#token")
        page.fill("#token", pathlib.Path(token).read_text().strip())
        page.click("#ask")
    page.wait_for_selector("fieldset")
    fill(page)
    page.click("#ask")
    page.wait_for_selector(".answer .number", timeout=10000)
    percent = [float(text.split()[0]) for text in page.locator(".answer .number").all_inner_texts()]
    if abs(sum(percent) - 100) > 1:
        wrong.append(f"the probabilities {percent} add up to {sum(percent)}")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        wrong.append("the page is wider than the screen")
    context.close()
    server.terminate()
    if server.wait() != 0:
        wrong.append("serve did not end with 0")
    print(f"{run}{' with a token' if token else ''}: {'; '.join(wrong) or 'right'}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/mirrortrain")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        right = []
        for run, fill in RUNS.items():
            config = ROOT / "configs" / f"{run}.yaml"
            if run == "drawn":
                config = pathlib.Path(folder) / "drawn.yaml"
                config.write_text(DRAWN)
            subprocess.run([options.program, "-q", "fit", config], check=True, cwd=folder, stdout=subprocess.DEVNULL)
            right.append(check(browser, options, folder, run, fill))
        token = pathlib.Path(folder) / "token"
        token.write_text("secret\n")
        right.append(check(browser, options, folder, "drawn", draw, str(token)))
        browser.close()
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
