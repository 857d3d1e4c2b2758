"""Firefox over WebDriver BiDi: one tab that opens pages, runs functions, and is clicked in."""

import contextlib
import itertools
import json
import re
import subprocess
import tempfile
import time

import websocket

BROWSERS = ("firefox-esr", "firefox")
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
}
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
SECONDS = 30


class Tab:
    """One tab, and the errors of its pages."""

    def __init__(self, address):
        # Firefox refuses a page's connection, which would say its origin.
        self._socket = websocket.create_connection(
            f"{address}/session", timeout=SECONDS, suppress_origin=True
        )
        self._numbers = itertools.count(1)
        self.errors = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded", "network.fetchError"])
        [tab] = self.ask("browsingContext.getTree")["contexts"]
        self._tab = tab["context"]

    def ask(self, method, **params):
        """Send a command, and return what it gives; errors of pages are noted meanwhile."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer["type"] == "event":
                self._note(answer["params"])
            elif answer["id"] == number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                return answer["result"]

    def _note(self, event):
        if event.get("level") == "error":
            self.errors.append(event["text"])
        elif "errorText" in event and event["errorText"] != "NS_BINDING_ABORTED":
            self.errors.append(f"{event['errorText']}: {event['request']['url']}")

    def close(self):
        """End the session."""
        self._socket.close()

    def open(self, address):
        """Open a page, and wait until it is loaded."""
        self.ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def call(self, function, *arguments):
        """Call a function of JavaScript; arguments and its result are JSON."""
        given = ", ".join(map(json.dumps, arguments))
        found = self.ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({function})({given})))()",
            target={"context": self._tab},
            awaitPromise=True,
        )
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"].get("value", "null"))

    def wait(self, function, *arguments):
        """Call a function until its result is true, and return that."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if found := self.call(function, *arguments):
                return found
            time.sleep(0.1)
        raise TimeoutError(f"after {SECONDS} seconds still not: {function}")

    def click(self, x, y):
        """Press and release the mouse at a place of the window."""
        steps = [
            {"type": "pointerMove", "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        self.ask("input.performActions", context=self._tab, actions=[mouse])


@contextlib.contextmanager
def firefox(path):
    """Start Firefox with a profile of its own; yields its tab."""
    with tempfile.TemporaryDirectory() as profile:
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
        with open(f"{profile}/user.js", "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        command = [path, "--headless", "--no-remote", "--remote-debugging-port=0"]
        command += ["--profile", profile, "--window-size=1280,900", "about:blank"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            found = next(filter(None, map(LISTENING.search, process.stderr)), None)
            if found is None:
                raise RuntimeError(f"{path} ended before it listened")
            with contextlib.closing(Tab(found[1])) as tab:
                yield tab
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)
