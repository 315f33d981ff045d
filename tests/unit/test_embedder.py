"""Meaning in process, with the real model of the extra `semantic` (row A14)."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from engram import config
from engram.config import SENTENCE_MODEL, SENTENCE_PACKAGES, EmbeddingSettings
from engram.core.policy import VectorPolicy
from engram.errors import ConfigError
from engram.index import embedder
from engram.index.embedder import LanguageModels, SentenceModel
from engram.index.filters import SearchFilter
from engram.index.multilingual import is_foreign
from engram.memory import FEW
from tests.semantic import needs_model

MINILM = EmbeddingSettings(SENTENCE_MODEL, in_process=True)


def cosine(one, other):
    return float(np.frombuffer(one, np.float32) @ np.frombuffer(other, np.float32))


@pytest.fixture(scope="module", autouse=True)
def shown():
    """Here the extra is installed, if it is."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SENTENCE_PACKAGES:
            patch.delitem(sys.modules, name, raising=False)
        yield


@pytest.fixture(scope="module")
def model(shown):
    return SentenceModel(None, VectorPolicy())


@pytest.fixture
def meaning(opened):
    """A function that opens a memory with the model, with these texts embedded."""

    def start(*texts):
        here = opened(embeddings=MINILM)
        for text in texts:
            here.call("remember", {"text": text})
        while here.embed():
            pass
        return here

    return start


@needs_model
def test_each_text_has_a_vector_of_length_one_whatever_is_in_its_batch(model):
    """Also an empty one, one of nothing but signs, and one that is very long."""
    texts = ["tea", "", "…", "日本語", "word " * 100_000]
    vectors = model.embed(texts)
    assert [len(one) // 4 for one in vectors] == [384] * 5
    assert all(cosine(one, one) == pytest.approx(1, abs=1e-5) for one in vectors)
    assert cosine(model.question("tea"), vectors[0]) > 0.98


@needs_model
def test_texts_of_two_languages_share_no_direction():
    """The model for each is loaded when it is needed, and a batch may have both."""
    models = LanguageModels(VectorPolicy())
    tea, tee, the = models.embed(["I like tea.", "Ich mag Tee.", "J'aime le thé."])
    assert {len(one) // 4 for one in (tea, tee, the)} == {384 + 512}
    assert all(cosine(one, one) == pytest.approx(1, abs=1e-5) for one in (tea, tee))
    assert cosine(tea, tee) == 0
    assert cosine(tee, the) > 0.5
    assert cosine(models.question("Ich mag Tee."), tee) == pytest.approx(1.3, abs=1e-5)
    assert models.question("I like tea.") == tea


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Where does the cat sleep?", False),
        ("Wo schläft die Katze?", True),
        ("猫はどこで寝ますか", True),
        ("Где спит кошка?", True),
        ("42", False),
        ("Toby", False),
    ],
)
def test_a_text_without_words_of_any_language_is_taken_as_english(text, foreign):
    assert is_foreign(text) is foreign


# row: A14
@needs_model
@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "Was kostet mich das Wohnen?",
            "Die Miete beträgt 910 Euro im Monat.",
            "Der Hund hat heute die Schuhe zerbissen.",
        ),
        (
            "¿Qué animal tengo en casa?",
            "Hemos adoptado un perro muy viejo.",
            "Mi hermano trabaja en un banco.",
        ),
        (
            "Quel sport est-ce que je fais ?",
            "Je joue au tennis le mardi soir.",
            "La voiture est chez le garagiste.",
        ),
        (
            "どんな仕事をしていますか",
            "病院で看護師として働いています。",
            "昨日は友達とラーメンを食べました。",
        ),
    ],
)
def test_a_question_in_another_language_finds_what_shares_no_word_with_it(
    meaning, question, answer, other
):
    here = meaning(other, answer)
    found = here.call("recall", {"query": question, "explain": True})["hits"]
    assert found[0]["text"] == answer
    assert found[0]["parts"].get("text", 0) == 0


# row: A14
@needs_model
def test_a_memory_is_recalled_by_its_meaning_without_a_server(meaning):
    here = meaning(
        "Toby is a puppy that we got in May.",
        "The boiler was serviced on Monday.",
        "Karin bought tickets for the opera.",
    )
    answer = here.call("recall", {"query": "young dog", "explain": True})
    assert "Toby" in answer["hits"][0]["text"]
    assert "vector" in answer["hits"][0]["parts"]
    assert answer["note"] == ""
    assert here.call("status", {})["meaning"].startswith("6 of 6 memories embedded")


@needs_model
def test_a_question_without_a_daemon_embeds_few_notes_and_tells_who_embeds_many(opened):
    here = opened(embeddings=MINILM)
    (here.settings.vault / "puppy.md").write_text("Toby came to us in May.\n")
    here.files.rescan(None)
    answer = here.call("recall", {"query": "when did Toby arrive?"})
    assert (answer["mode"], answer["note"]) == ("meaning", "")
    for number in range(FEW + 1):
        (here.settings.vault / f"{number}.md").write_text(
            f"Part {number} of a novel.\n"
        )
    here.files.rescan(None)
    answer = here.call("recall", {"query": "when did Toby arrive?"})
    assert answer["mode"] == "words"
    assert answer["note"].endswith("embedded while a daemon runs")


@needs_model
def test_the_nearest_sentence_of_a_text_counts(meaning):
    """A text of many topics is as near to a question as the sentence that answers it."""
    long = (
        "The boiler was serviced on Monday. The roof needs new tiles in spring."
        " Toby is a puppy that we got in May. Karin bought tickets for the opera."
    )
    here = meaning(long)
    semantic, lexical = here.index.semantic, here.index.lexical
    (vector,) = here.embedding.vectors(["young dog"])
    alone = cosine(vector, semantic.vector(long))
    ((_, best),) = [
        (one.key, one.similarity)
        for one in semantic.near(lexical, vector, SearchFilter(("fact",)), 5, ())
    ]
    assert best > alone + 0.05


@needs_model
def test_the_similarities_of_a_model_in_process_only_rank(meaning):
    """`I like tea` and `I hate tea` are near to each other, so they decide nothing."""
    here = meaning("I like tea.")
    semantic = here.index.semantic
    points = [(-1.0, -1.0), (1.0, 1.0)]
    semantic._calibration_data = {
        "model": SENTENCE_MODEL,
        "dimension": semantic.vectors.dimension,
        "points": points,
    }
    assert semantic.scale.calibrated
    assert not semantic.may_decide
    findings = here.call("doctor", {})["findings"]
    (told,) = [one["what"] for one in findings if one["code"] == "embeddings"]
    assert told.startswith("The embedding model answers (896 dimensions)")


# -- when it is used -------------------------------------------------------------------


@needs_model
def test_the_model_is_used_once_it_is_installed_unless_it_is_turned_off(
    settings, tmp_path
):
    env = {"ENGRAM_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    assert config.load(settings.vault, env).embeddings == MINILM
    off = {**env, "ENGRAM_EMBEDDINGS_MODEL": "off"}
    assert config.load(settings.vault, off).embeddings is None


@needs_model
def test_a_folder_with_a_model_takes_its_place(settings, tmp_path, model, opened):
    env = {"ENGRAM_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    env["ENGRAM_EMBEDDINGS_MODEL"] = str(tmp_path / "model")
    with pytest.raises(ConfigError, match=r"model has no file model\.onnx"):
        config.load(settings.vault, env)
    folder = tmp_path / "model"
    folder.mkdir()
    for path, name in zip(embedder._files(None), config.MODEL_FILES, strict=True):
        shutil.copyfile(path, folder / name)
    found = config.load(settings.vault, env).embeddings
    assert (found.in_process, found.folder) == (True, folder)
    own = SentenceModel(folder, VectorPolicy())
    assert own.question("tea") == model.question("tea")
    (folder / "model.onnx").write_bytes(b"no model")
    here = opened(embeddings=found)
    here.call("remember", {"text": "Toby is a puppy."})
    answer = here.call("recall", {"query": "puppy"})
    assert "Toby" in answer["hits"][0]["text"]
    (told,) = [
        one
        for one in here.call("doctor", {})["findings"]
        if one["code"] == "embeddings"
    ]
    assert told["level"] == "error"
    assert str(folder) in told["what"]


@needs_model
def test_files_with_other_content_are_refused_and_no_code_of_theirs_runs(
    tmp_path, monkeypatch
):
    for name, place, _ in (*embedder._ENGLISH, *embedder._FOREIGN):
        real = Path(embedder.find_spec(name).submodule_search_locations[0])
        made = tmp_path / name
        (made / place).parent.mkdir(parents=True, exist_ok=True)
        (made / "__init__.py").write_text("raise SystemExit('it was imported')\n")
        shutil.copyfile(real / place, made / place)
    monkeypatch.syspath_prepend(tmp_path)
    LanguageModels(VectorPolicy()).embed(["tea", "der Tee ist gut"])
    for name, place, _ in (embedder._ENGLISH[0], embedder._FOREIGN[0]):
        with (tmp_path / name / place).open("ab") as weights:
            weights.write(b"\0")
    for text in ("tea", "der Tee ist gut"):
        with pytest.raises(ConfigError, match="not the one of the extra `semantic`"):
            LanguageModels(VectorPolicy()).embed([text])


def test_without_the_extra_words_answer_and_doctor_names_it(opened, monkeypatch):
    for name in SENTENCE_PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    memory = opened(embeddings=None)
    with pytest.raises(ConfigError, match=r"not installed.*engram-md\[semantic\]"):
        LanguageModels(VectorPolicy()).question("tea")
    memory.call("remember", {"text": "Toby is a puppy."})
    answer = memory.call("recall", {"query": "puppy"})
    assert "Toby" in answer["hits"][0]["text"]
    (told,) = [
        one
        for one in memory.call("doctor", {})["findings"]
        if one["code"] == "embeddings"
    ]
    assert (told["level"], "engram-md[semantic]" in told["fix"]) == ("notice", True)
