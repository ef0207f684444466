"""Who is let in, from where, and what a browser is told to keep to itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from tests.console.running import ConsoleProcess, Server, Visitor, url_of
from tests.harness.servers import StartError, StrataServer
from tests.tools.running import stratakv


def test_the_password_is_the_servers_and_the_cookie_is_closed(console: ConsoleProcess) -> None:
    visitor = console.visitor()
    assert visitor.get("/").headers["Location"].startswith("/login?next=")
    assert visitor.log_in("admin", "wrong").status == 403
    page = visitor.log_in("admin", "secret")
    assert page.status == 303
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "secret" not in cookie
    page = visitor.get("/keys")
    assert page.status == 200
    assert "admin" in page.text
    assert "secret" not in page.body


def test_logging_out_ends_the_session(visitor: Visitor) -> None:
    visitor.post("/logout", {})
    assert visitor.get("/keys").status == 303
    assert visitor.get("/api/overview").status == 401


def test_every_answer_forbids_what_a_page_does_not_need(visitor: Visitor) -> None:
    for path in ("/keys", "/login", "/static/console.css", "/none", "/keys?type=none"):
        headers = visitor.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80", ""])
def test_a_name_that_leads_here_from_elsewhere_is_refused(visitor: Visitor, host: str) -> None:
    assert visitor.get("/keys", {"Host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost:{}", "[::1]:{}", "127.0.0.1:{}"])
def test_it_is_known_as_this_machine(visitor: Visitor, host: str) -> None:
    assert visitor.get("/keys", {"Host": host.format(visitor.port)}).status == 200


def test_a_form_of_another_site_changes_nothing(visitor: Visitor, server: Server) -> None:
    fields = {"theme": "dark"}
    for origin in ("http://evil.example", "null", ""):
        assert visitor.post("/theme", fields, {"Origin": origin}).status == 403
    assert visitor.post("/theme", {**fields, "token": "guessed"}).status == 403
    assert 'data-theme="dark"' not in visitor.get("/keys").body
    assert visitor.post("/theme", fields).status == 303
    assert 'data-theme="dark"' in visitor.get("/keys").body


def test_a_form_leads_to_no_other_site(visitor: Visitor) -> None:
    for place in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert visitor.post("/theme", {"next": place}).headers["Location"] == "/"


def test_guessing_passwords_has_to_wait(server: Server, tmp_path: Path) -> None:
    console = ConsoleProcess(tmp_path / "console", url_of(server)).start()
    try:
        visitor = console.visitor()
        codes = [visitor.log_in("admin", f"guess {n}").status for n in range(6)]
        assert codes == [403] * 5 + [429]
        assert visitor.log_in("admin", "secret").status == 429  # though it is right
    finally:
        console.stop()


def test_guessing_many_at_once_is_no_faster(server: Server, tmp_path: Path) -> None:
    console = ConsoleProcess(tmp_path / "console", url_of(server)).start()
    try:
        guesses = [f"guess {n}" for n in range(30)]
        with ThreadPoolExecutor(len(guesses)) as pool:
            tried = pool.map(lambda one: console.visitor().log_in("admin", one).status, guesses)
            codes = sorted(tried)
        assert codes == [403] * 5 + [429] * 25
    finally:
        console.stop()


def test_a_right_password_makes_guesses_no_cheaper(server: Server, tmp_path: Path) -> None:
    """Whoever has a user of their own does not begin anew with each log-in."""
    console = ConsoleProcess(tmp_path / "console", url_of(server)).start()
    try:
        visitor = console.visitor()
        codes = [visitor.log_in("admin", f"guess {n}").status for n in range(4)]
        codes += [visitor.log_in("reader", "secret").status for _ in range(3)]
        codes += [visitor.log_in("admin", f"guess {n}").status for n in range(2)]
        assert codes == [403] * 4 + [303] * 3 + [403, 429]
    finally:
        console.stop()


def test_a_user_sees_what_the_user_may(console: ConsoleProcess) -> None:
    visitor = console.visitor()
    assert visitor.log_in("shop", "secret").status == 303
    assert visitor.get("/").status == 403
    assert visitor.get("/api/overview").status == 403
    page = visitor.get("/key", key="other:1")
    assert page.status == 403
    assert "You may not do this" in page.text


def test_what_is_not_known_of_a_key_is_not_made_up(
    console: ConsoleProcess, client: redis.Redis
) -> None:
    """SCAN names keys that the user may not read."""
    client.set("other:1", "x", ex=500)
    limited = console.visitor()
    limited.log_in("shop", "secret")
    page = limited.get("/keys", view="list")
    assert "other:1" in page.text
    assert "no expiry" not in page.text


def test_pages_that_show_nothing_to_a_user_are_left_out(console: ConsoleProcess) -> None:
    limited, everything = console.visitor(), console.visitor()
    assert limited.log_in("shop", "secret").headers["Location"] == "/keys"  # not to the overview
    assert everything.log_in("admin", "secret").headers["Location"] == "/"
    needed = {'href="/settings"', 'href="/clients"', 'href="/slow"', ">Overview<"}
    assert {one for one in needed if one in everything.get("/keys").body} == needed
    assert not any(one in limited.get("/keys").body for one in needed)
    assert 'href="/large"' in limited.get("/keys").body


def test_the_address_may_come_from_the_environment_and_is_not_shown(
    server: Server, tmp_path: Path
) -> None:
    url = f"redis://admin:secret@127.0.0.1:{server.port}"
    console = ConsoleProcess(tmp_path / "console", env={"STRATAKV_CONSOLE_URL": url}).start()
    try:
        visitor = console.visitor()
        assert "secret" not in visitor.get("/login").body
        assert visitor.log_in("reader", "secret").status == 303
        assert "secret" not in visitor.get("/keys").body
        assert "secret" not in console.output()
    finally:
        console.stop()


def test_it_goes_to_no_other_address_while_the_server_asks_for_no_password(
    server: Server, tmp_path: Path
) -> None:
    console = ConsoleProcess(tmp_path / "console", url_of(server), ["--bind", "0.0.0.0"])
    with pytest.raises(StartError, match="asks for no password"):
        console.start()


def test_elsewhere_a_server_that_comes_later_is_asked_too(tmp_path: Path) -> None:
    strata = StrataServer(tmp_path / "data").start()
    port = strata.port
    strata.stop()
    url = f"redis://127.0.0.1:{port}"
    console = ConsoleProcess(tmp_path / "console", url, ["--bind", "0.0.0.0"]).start()
    later = StrataServer(tmp_path / "data", ["--port", str(port)]).start()
    try:
        page = console.visitor().log_in()
        assert page.status == 403
        assert "asks for no password" in page.text
        with later.client() as client:
            client.send("CONFIG", "SET", "requirepass", "secret")
        assert console.visitor().log_in().status == 403
        assert console.visitor().log_in("default", "secret").status == 303
    finally:
        console.stop()
        later.stop()


def test_a_server_that_is_away_is_said_to_be_and_comes_again(tmp_path: Path) -> None:
    strata = StrataServer(tmp_path / "data").start()
    console = ConsoleProcess(tmp_path / "console", f"redis://127.0.0.1:{strata.port}").start()
    try:
        visitor = console.visitor()
        visitor.log_in()
        strata.kill9()
        page = visitor.get("/keys")
        assert page.status == 503
        assert "The server is away" in page.text
        assert "The server is away" in console.visitor().log_in().text
        strata.flags = ["--port", str(strata.port)]
        strata.start()
        assert visitor.get("/keys").status == 200
    finally:
        console.stop()
        strata.stop()


def test_a_certificate_goes_with_a_key_and_both_are_files(server: Server, tmp_path: Path) -> None:
    code, output = stratakv("console", "--tls-cert-file", "a.crt", "--url", url_of(server))
    assert (code, "--tls-key-file" in output) == (1, True)
    flags = ["--tls-cert-file", str(tmp_path / "none"), "--tls-key-file", "b.key"]
    with pytest.raises(StartError, match="No such file"):
        ConsoleProcess(tmp_path / "console", url_of(server), flags).start()


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "http://user:secret@host"],
        ["--port", "70000"],
        ["--metrics-url", "ftp://host"],
    ],
)
def test_options_that_cannot_be_are_named(words: list[str]) -> None:
    code, output = stratakv("console", *words)
    assert code == 1
    assert words[0] in output
    assert "secret" not in output
