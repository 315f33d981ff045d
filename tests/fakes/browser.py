"""Debian's Chromium, driven through chromedriver with the standard library alone."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

MISSING = "no browser: chromium and chromedriver are not installed (tools/browser installs them)"
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Down": "\ue015", "Tab": "\ue004"}


def is_installed():
    """Whether a browser and its driver are there."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """A window of the browser with a new profile in `folder`."""

    def __init__(self, folder, *, dark=False, width=1180, javascript=True):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()
        options = {
            "binary": shutil.which("chromium"),
            "args": [*ARGUMENTS, f"--user-data-dir={folder}"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{made['sessionId']}"
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        if not javascript:
            self.command("Emulation.setScriptExecutionDisabled", value=True)

    def close(self):
        try:
            self._ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def go(self, url):
        self._ask("POST", "/url", {"url": url})

    def url(self):
        return self._ask("GET", "/url")

    def run(self, script, *arguments):
        """Run JavaScript, also where the page may not, and return its result."""
        body = {"script": script, "args": list(arguments)}
        return self._ask("POST", "/execute/sync", body)

    def text(self):
        """The text of the page as it is shown."""
        return self.run("return document.body ? document.body.innerText : ''")

    def click(self, selector):
        found = self._ask(
            "POST", "/element", {"using": "css selector", "value": selector}
        )
        (element,) = found.values()
        self._ask("POST", f"/element/{element}/click", {})

    def press(self, *keys):
        """Press keys one after another: characters, or names in KEYS."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("POST", "/actions", {"actions": [keyboard]})

    def faults(self):
        """The errors on the console since the last question."""
        rows = self._ask("POST", "/se/log", {"type": "browser"})
        return [row["message"] for row in rows if row["level"] == "SEVERE"]

    def until(self, holds, seconds=10):
        """Wait until `holds()` is true, and return its value."""
        last = time.monotonic() + seconds
        while not (value := holds()):
            assert time.monotonic() < last, self.text()
            time.sleep(0.03)
        return value

    def command(self, name, **arguments):
        body = {"cmd": name, "params": arguments}
        return self._ask("POST", "/goog/cdp/execute", body)

    def _wait(self):
        last = time.monotonic() + 30
        while True:
            try:
                self._ask("GET", "/status")
            except OSError:
                assert time.monotonic() < last
                time.sleep(0.05)
            else:
                return

    def _ask(self, method, path, body=None):
        raw = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, raw, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as fault:
            with fault:
                raise AssertionError(fault.read().decode()[:2000]) from None
