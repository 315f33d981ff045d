"""Settings: two files, the environment, and every problem at once."""

from __future__ import annotations

import os

import pytest

from engram import config
from engram.core.policy import CURVES, Policy
from engram.errors import ConfigError


@pytest.fixture
def world(tmp_path):
    """A home with a vault in it; `load` reads them with more of the environment."""

    class World:
        home = tmp_path / "home"
        vault = tmp_path / "vault"

        def load(self, **more):
            return config.load(
                self.vault, {"HOME": str(self.home), "TZ": "UTC", **more}
            )

        def of_user(self, text):
            path = self.home / ".config" / "engram" / "config.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        def of_vault(self, text):
            (self.vault / "engram.toml").write_text(text)

        def refused(self, **more):
            with pytest.raises(ConfigError) as fault:
                self.load(**more)
            return fault.value.what

    World.home.mkdir()
    World.vault.mkdir()
    return World()


def test_every_problem_in_every_place_is_named_at_once(world):
    """One start shows all there is to mend."""
    world.of_vault('zone = "Mars/Olympus"\nbuffer.turns = 0\nredcat = "off"\n')
    world.of_user("[model]\napi = 'soap'\ntimeout = true\n")
    words = world.refused(ENGRAM_PORT="many")
    for part in (
        "Mars/Olympus",
        "buffer.turns",
        "'redcat'",
        "model.api",
        "model.timeout",
        "ENGRAM_PORT",
    ):
        assert part in words


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('model = "x"', "it is a table; did you mean 'model.name'?"),
        ('base_urls = "x"', ""),
        ("minutes = 3", "did you mean 'buffer.minutes'?"),
        ("buffer.turn = 3", "did you mean 'buffer.turns'?"),
        ('attachments = "y"', ""),
        ('name = "y"', ""),
    ],
)
def test_a_key_is_hinted_at_only_where_it_is_meant(world, line, hint):
    world.of_user(f"{line}\n")
    said = world.refused()
    assert f"unknown key '{line.split()[0]}'{hint and ', '}{hint}" in said
    assert bool(hint) == ("did you mean" in said)


@pytest.mark.parametrize(
    "line",
    [
        "tcp_port = 8080",
        'vault = "/"',
        'model.base_url = "http://evil"',
        'model.name = "m"',
        'embeddings.name = "e"',
        'embeddings.base_url = "http://evil"',
        'embeddings.api_key_file = "/etc/shadow"',
    ],
)
def test_a_vault_cannot_say_where_words_go(world, line):
    """What names a place or a server is refused in a file that travels."""
    world.of_vault(line)
    assert "belongs in the user's configuration file" in world.refused()


def test_a_key_of_the_vault_is_refused_in_the_users_file(world):
    """Each key has one home."""
    world.of_user("[recall]\nk = 3\n")
    assert "belongs in the vault's engram.toml" in world.refused()


@pytest.mark.parametrize(
    "line",
    [
        "buffer.turns = 201",
        "buffer.turns = 2.5",
        "buffer.turns = nan",
        "buffer.turns = inf",
        f"buffer.turns = 1{'0' * 400}",
        'buffer.turns = "5"',
        "buffer.minutes = true",
        "buffer.minutes = nan",
        "patterns = [1]",
        'patterns = "one"',
        "zone = 5",
        'redact = "perhaps"',
        'file_name = "../{hash}"',
        f"zone = {'[' * 5000}",
        "zone = 'a' 'b'",
        "leave_out = 'Archive'",
        "leave_out = ['']",
        "leave_out = ['Notes/../facts']",
        "leave_out = ['sessions/2026']",
    ],
)
def test_a_value_that_does_not_fit_is_a_problem_and_no_surprise(world, line):
    """Kinds, ranges and choices; no value stops the reading."""
    world.of_vault(line)
    assert str(world.vault / "engram.toml") in world.refused()


@pytest.mark.parametrize("name", ["../../other", "a/b", "a\\\\b", ".", "x" * 65, "ä"])
def test_an_id_cannot_lead_out_of_the_state_folder(world, name):
    """The id of a vault that came from elsewhere names folders here."""
    world.of_vault(f'id = "{name}"\n')
    assert "letters, digits" in world.refused()


@pytest.mark.parametrize("port", ["70000", "-1", "²", "8e3", "9" * 5000])
def test_a_port_is_a_port(world, port):
    """From the environment as from the file."""
    assert "ENGRAM_PORT" in world.refused(ENGRAM_PORT=port)


# row: D4
@pytest.mark.parametrize("mode", CURVES)
def test_a_vault_names_the_curve_of_forgetting(world, mode):
    """Each is that of its name, none is huber, and no fourth is taken."""
    assert world.load().policy == Policy()
    world.of_vault(f'retention = "{mode}"\n')
    policy = world.load().policy
    assert policy.decay.curve == CURVES[mode]
    assert (policy == Policy()) is (mode == "huber")
    world.of_vault('retention = "linear"\n')
    assert (
        "retention must be one of l2, huber, elastic, not 'linear'" in world.refused()
    )


def test_whole_numbers_may_be_written_with_a_point(world):
    """TOML tells 5.0 from 5; a person does not."""
    world.of_vault("buffer.turns = 7.0\nbuffer.minutes = 2\n")
    world.of_user("tcp_port = 8080.0\n")
    settings = world.load()
    assert (
        repr(settings.policy.buffer.turns),
        repr(settings.policy.buffer.minutes),
    ) == ("7", "2.0")
    assert repr(settings.tcp_port) == "8080"


def test_the_environment_goes_before_the_users_file(world, tmp_path):
    """For one call, without an edit."""
    world.of_user(f'vault = "{tmp_path}"\ntcp_port = 1\n[model]\nname = "a"\n')
    settings = world.load(
        ENGRAM_PORT="2", ENGRAM_MODEL="b", ENGRAM_BASE_URL="http://127.0.0.1:1/v1"
    )
    assert (settings.tcp_port, settings.model.name, settings.model.base_url) == (
        2,
        "b",
        "http://127.0.0.1:1/v1",
    )


def test_the_vault_is_chosen_in_a_fixed_order(world, tmp_path, monkeypatch):
    """The argument, the environment, the user's file, this folder, ~/Engram."""
    env = {"HOME": str(world.home), "TZ": "UTC"}
    monkeypatch.chdir(tmp_path)
    assert config.load(None, env).vault == world.home / "Engram"
    (tmp_path / "engram.toml").write_text("")
    assert config.load(None, env).vault == tmp_path
    world.of_user(f'vault = "{tmp_path}/named"\n')
    assert config.load(None, env).vault == tmp_path / "named"
    assert (
        config.load(None, env | {"ENGRAM_VAULT": f"{tmp_path}/env"}).vault
        == tmp_path / "env"
    )
    assert (
        config.load(world.vault, env | {"ENGRAM_VAULT": f"{tmp_path}/env"}).vault
        == world.vault
    )


@pytest.mark.parametrize("name", ["~nobody-of-that-name/vault", "a\\u0000b"])
def test_a_vault_that_no_folder_can_be_is_a_problem(world, name):
    """In words, not as a trace."""
    world.of_user(f'vault = "{name}"\n')
    with pytest.raises(ConfigError, match="is not a folder"):
        config.load(None, {"HOME": str(world.home), "TZ": "UTC"})


def test_two_vaults_without_an_id_share_no_folder(world, tmp_path):
    """The path stands for the id, the same one each time."""
    other = config.load(tmp_path / "other", {"HOME": str(world.home), "TZ": "UTC"})
    assert world.load().state == world.load().state != other.state


def test_the_key_comes_from_its_file_then_the_credential_then_the_environment(
    world, tmp_path
):
    """And never shows in a repr."""
    (tmp_path / "key").write_text("of-the-file\n")
    (tmp_path / "api_key").write_text("of-systemd\n")
    env = {"ENGRAM_MODEL": "m", "OPENAI_API_KEY": "of-another-tool"}
    assert world.load(**env).model.api_key == "of-another-tool"
    assert world.load(**env, ENGRAM_API_KEY="ours").model.api_key == "ours"
    env |= {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert world.load(**env).model.api_key == "of-systemd"
    world.of_user(f'[model]\napi_key_file = "{tmp_path}/key"\n')
    settings = world.load(**env)
    assert settings.model.api_key == "of-the-file"
    assert "of-the-file" not in repr(settings)


def test_a_key_alone_starts_no_model(world):
    """It may lie there for another tool."""
    assert world.load(OPENAI_API_KEY="k", ENGRAM_API_KEY="k").model is None


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_key_file_that_cannot_be_read_is_a_problem(world, tmp_path, content):
    """Missing or no text; its bytes are not shown."""
    if content:
        (tmp_path / "key").write_bytes(content)
    world.of_user(f'[model]\napi_key_file = "{tmp_path}/key"\n')
    assert "cannot be read" in world.refused()


def test_a_file_that_cannot_be_read_is_a_problem(world):
    """A folder in its place, or bytes that are no text."""
    (world.vault / "engram.toml").mkdir()
    assert "cannot be read" in world.refused()
    (world.vault / "engram.toml").rmdir()
    (world.vault / "engram.toml").write_bytes(b"\xff")
    assert "not valid TOML" in world.refused()


def test_a_pipe_in_the_place_of_a_file_of_settings_is_a_problem(world, tmp_path):
    """It is not read: it may never end."""
    os.mkfifo(tmp_path / "key")
    world.of_user(f'[model]\napi_key_file = "{tmp_path}/key"\n')
    assert "cannot be read (a pipe, a device or a socket)" in world.refused()
    (world.vault / "engram.toml").symlink_to("/dev/zero")
    assert "cannot be read (a pipe, a device or a socket)" in world.refused()


def test_every_key_has_a_meaning_and_a_home():
    """And no name stands twice."""
    keys = config.keys()
    assert len({key.name for key in keys}) == len(keys)
    assert all(key.meaning and key.place in {"vault", "user"} for key in keys)


def test_a_database_is_never_named_by_the_vault(world):
    """A vault from elsewhere must not send words to a server; a password is not shown."""
    world.of_vault('postgres = "postgresql://me:secret@evil/x"\n')
    assert "'postgres' belongs in the user's configuration file" in world.refused()
    world.of_vault("")
    assert world.load().postgres == ""
    world.of_user('postgres = "postgresql://me:secret@host/x"\n')
    settings = world.load()
    assert settings.postgres.endswith("@host/x")
    assert "secret" not in repr(settings)
    assert world.load(ENGRAM_POSTGRES="dbname=y").postgres == "dbname=y"


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://me:secret@host/x", "postgresql://me:***@host/x"),
        (
            "postgresql://me@host/x?password=secret&a=b",
            "postgresql://me@host/x?password=***&a=b",
        ),
        ("host=h password='se cret' dbname=x", "host=h password=*** dbname=x"),
        ("host=/run/pg dbname=x", "host=/run/pg dbname=x"),
    ],
)
def test_a_password_is_taken_out_of_a_connection_string(dsn, shown):
    assert config.without_password(dsn) == shown


def test_an_embedding_model_shares_the_server_and_key_of_the_language_model(world):
    """Only its name need be said; without a name there is none."""
    world.of_user(
        '[model]\nbase_url = "http://127.0.0.1:1/v1"\n[embeddings]\nname = "e"\n'
    )
    embeddings = world.load(ENGRAM_API_KEY="shared").embeddings
    assert (embeddings.name, embeddings.base_url, embeddings.api_key) == (
        "e",
        "http://127.0.0.1:1/v1",
        "shared",
    )
    assert "shared" not in repr(embeddings)
    world.of_user("")
    assert world.load(OPENAI_API_KEY="k").embeddings is None
    assert (
        world.load(ENGRAM_EMBEDDINGS_MODEL="e", OPENAI_API_KEY="k").embeddings.api_key
        == "k"
    )


def test_the_language_models_key_goes_to_no_other_server(world, tmp_path):
    """An embedding server of its own has a key of its own, or none."""
    own = {
        "ENGRAM_EMBEDDINGS_MODEL": "e",
        "ENGRAM_EMBEDDINGS_BASE_URL": "https://other.example/v1",
    }
    secrets = {"ENGRAM_API_KEY": "shared", "OPENAI_API_KEY": "shared"}
    assert world.load(**own, **secrets).embeddings.api_key is None
    assert (
        world.load(**own, **secrets, ENGRAM_EMBEDDINGS_API_KEY="own").embeddings.api_key
        == "own"
    )
    (tmp_path / "embeddings_api_key").write_text("of-systemd\n")
    (tmp_path / "api_key").write_text("shared\n")
    assert (
        world.load(
            **own, **secrets, CREDENTIALS_DIRECTORY=str(tmp_path)
        ).embeddings.api_key
        == "of-systemd"
    )
    world.of_user('[embeddings]\napi_key_file = "/nowhere"\n')
    assert "embeddings.api_key_file: /nowhere cannot be read" in world.refused(**own)
