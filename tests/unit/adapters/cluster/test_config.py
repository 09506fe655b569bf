"""Credentials from kubeconfigs and service accounts."""

from __future__ import annotations

import base64
import json
import logging
import os
import shutil
import ssl
import stat
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.config import Kubeconfig, ServiceAccount

SECRET = "it-must-not-show"


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("pem")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", folder / "key.pem", "-out", folder / "ca.pem"],
        check=True,
        capture_output=True,
    )
    return folder


def written(folder: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, **context: str) -> Kubeconfig:
    """A kubeconfig with one user."""
    server = {"server": "https://10.0.0.1:6443/", "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": cluster or server}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return Kubeconfig(str(path))


def plugin(folder: Path, said: str, code: int = 0) -> dict[str, Any]:
    """A user whose credentials a program tells; it notes each time it ran."""
    program = folder / "plugin"
    program.write_text(f"#!/bin/sh\necho ran >>{folder}/ran\ncat {folder}/said\nexit {code}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "said").write_text(said)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}


def credential(**status: str) -> str:
    """What a plugin says."""
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


class TestKubeconfig:
    async def test_a_token_is_shown_as_a_bearer_s(self, tmp_path: Path) -> None:
        found = await written(tmp_path, {"token": SECRET}, namespace="mine").load()

        assert (found.server, found.authorization) == ("https://10.0.0.1:6443", f"Bearer {SECRET}")
        assert (found.namespace, found.renew_at) == ("mine", None)

    async def test_a_token_file_is_read_each_time(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("one")
        kubeconfig = written(tmp_path, {"tokenFile": str(tmp_path / "token")})
        first = await kubeconfig.load()
        (tmp_path / "token").write_text("two")

        assert [first.authorization, (await kubeconfig.load(first)).authorization] == ["Bearer one", "Bearer two"]

    async def test_a_name_and_password_are_basic(self, tmp_path: Path) -> None:
        found = await written(tmp_path, {"username": "u", "password": "p"}).load()

        assert found.authorization == "Basic " + base64.b64encode(b"u:p").decode()

    async def test_certificates_come_as_files_or_as_text_and_leave_nothing_behind(
        self, tmp_path: Path, pem: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        ca, key = (pem / "ca.pem").read_bytes(), (pem / "key.pem").read_bytes()
        cluster = {"server": "https://x", "certificate-authority-data": base64.b64encode(ca).decode()}
        in_text = {
            "client-certificate-data": base64.b64encode(ca).decode(),
            "client-key-data": base64.b64encode(key).decode(),
        }
        in_files = {"client-certificate": str(pem / "ca.pem"), "client-key": str(pem / "key.pem")}

        found = [await written(tmp_path, user, cluster).load() for user in (in_text, in_files, in_text)]

        assert {(each.certificates.authority, each.certificates.certificate) for each in found} == {(ca, ca)}
        assert {each.certificates.key for each in found} == {key}
        assert list(temporary.iterdir()) == []

    async def test_connections_stay_while_certificates_do(self, tmp_path: Path, pem: Path) -> None:
        kubeconfig = written(tmp_path, {"token": "a"})
        first = await kubeconfig.load()
        again = await kubeconfig.load(first)
        cluster = {"server": "https://x", "certificate-authority": str(pem / "ca.pem")}
        other = await written(tmp_path, {"token": "a"}, cluster).load(again)

        assert again.context is first.context
        assert other.context is not first.context

    async def test_who_the_server_is_is_verified_as_the_kubeconfig_says(self, tmp_path: Path, pem: Path) -> None:
        trusted = {"server": "https://x", "certificate-authority": str(pem / "ca.pem"), "tls-server-name": "y"}
        strict = await written(tmp_path, {"token": "a"}, trusted).load()
        lax = await written(tmp_path, {"token": "a"}).load()

        assert (strict.context.verify_mode, strict.context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert strict.server_name == "y"
        assert not strict.context.verify_flags & ssl.VERIFY_X509_STRICT
        assert (lax.context.verify_mode, lax.context.check_hostname) == (ssl.CERT_NONE, False)

    async def test_a_plugin_s_token_is_renewed_before_its_end(self, tmp_path: Path) -> None:
        ends = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=10)
        user = plugin(tmp_path, credential(token="fresh", expirationTimestamp=ends.isoformat()))

        found = await written(tmp_path, user).load()

        assert found.authorization == "Bearer fresh"
        assert found.renew_at is not None
        assert timedelta(minutes=1) < ends - found.renew_at < timedelta(minutes=5)

    async def test_a_plugin_runs_anew_each_time_it_is_asked(self, tmp_path: Path) -> None:
        kubeconfig = written(tmp_path, plugin(tmp_path, credential(token="t")))
        await kubeconfig.load(await kubeconfig.load())

        assert (tmp_path / "ran").read_text().split() == ["ran", "ran"]

    async def test_a_plugin_that_fails_gives_no_credentials(self, tmp_path: Path) -> None:
        with pytest.raises(errors.Unavailable, match="gives no credentials"):
            await written(tmp_path, plugin(tmp_path, "nothing", code=1)).load()

    @pytest.mark.parametrize(
        "text",
        (
            pytest.param("", id="empty"),
            pytest.param("{", id="no YAML"),
            pytest.param("[]", id="a list"),
            pytest.param("current-context: gone", id="without contexts"),
            pytest.param("current-context: a\ncontexts: [{name: a, context: {cluster: b}}]", id="without clusters"),
        ),
    )
    async def test_a_kubeconfig_that_is_none_says_so(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "kubeconfig").write_text(text)

        with pytest.raises(errors.Unavailable, match="kubeconfig"):
            await Kubeconfig(str(tmp_path / "kubeconfig")).load()

    async def test_a_kubeconfig_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(errors.Unavailable, match=f"there is no kubeconfig at {tmp_path}/gone"):
            await Kubeconfig(f"{tmp_path}/gone").load()

    async def test_several_files_are_one_kubeconfig(self, tmp_path: Path) -> None:
        second = written(tmp_path, {"token": "t"}).paths

        found = await Kubeconfig(os.pathsep.join((str(tmp_path / "absent"), second))).load()

        assert found.authorization == "Bearer t"

    async def test_no_secret_shows(self, tmp_path: Path, pem: Path, caplog: pytest.LogCaptureFixture) -> None:
        cluster = {"server": "https://x", "certificate-authority": str(pem / "ca.pem")}
        key = {"client-certificate": str(pem / "ca.pem"), "client-key": str(pem / "key.pem")}
        with caplog.at_level(logging.DEBUG):
            found = await written(tmp_path, {"token": SECRET, **key}, cluster).load()

        assert SECRET not in repr(found) + caplog.text
        assert "PRIVATE" not in repr(found) + caplog.text


class TestServiceAccount:
    @pytest.fixture
    def folder(self, tmp_path: Path, pem: Path) -> Path:
        (tmp_path / "token").write_text("one\n")
        (tmp_path / "namespace").write_text("ours")
        shutil.copy(pem / "ca.pem", tmp_path / "ca.crt")
        return tmp_path

    ENVIRON: ClassVar = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    async def test_it_names_the_server_the_token_and_the_namespace(self, folder: Path, pem: Path) -> None:
        found = await ServiceAccount(self.ENVIRON, folder).load()

        assert (found.server, found.authorization) == ("https://[fd00::1]:443", "Bearer one")
        assert (found.namespace, found.certificates.authority) == ("ours", (pem / "ca.pem").read_bytes())

    async def test_its_token_is_read_again_after_a_minute_over_the_same_connections(self, folder: Path) -> None:
        account = ServiceAccount(self.ENVIRON, folder)
        first = await account.load()
        (folder / "token").write_text("two")
        second = await account.load(first)

        assert first.renew_at is not None
        assert first.renew_at - datetime.now(UTC) <= timedelta(minutes=1)
        assert (second.authorization, second.context is first.context) == ("Bearer two", True)

    @pytest.mark.parametrize("absent", ("token", "ca.crt", "namespace"))
    async def test_what_it_lacks_makes_it_unusable(self, folder: Path, absent: str) -> None:
        (folder / absent).unlink()

        with pytest.raises(errors.Unavailable, match="service account cannot be used"):
            await ServiceAccount(self.ENVIRON, folder).load()


class TestChoice:
    IN_A_POD: ClassVar = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}

    def test_what_was_asked_for_comes_first(self) -> None:
        assert config.source("asked", "c", {"KUBECONFIG": "named", **self.IN_A_POD}) == Kubeconfig("asked", "c")

    def test_then_what_the_environment_names(self) -> None:
        assert config.source("", "", {"KUBECONFIG": "named", **self.IN_A_POD}) == Kubeconfig("named")

    def test_then_the_pod_s_own_account(self) -> None:
        assert isinstance(config.source("", "", self.IN_A_POD), ServiceAccount)

    def test_then_the_user_s_own_kubeconfig(self) -> None:
        assert config.source("", "c", {}) == Kubeconfig(str(Path.home() / ".kube" / "config"), "c")


async def test_kopf_gets_the_same_in_its_own_words(tmp_path: Path, pem: Path) -> None:
    cluster = {"server": "https://x", "certificate-authority": str(pem / "ca.pem")}
    found = await written(tmp_path, {"token": "t"}, cluster, namespace="mine").load()

    assert found.connection_info() == {
        "server": "https://x",
        "ca_data": (pem / "ca.pem").read_bytes(),
        "insecure": False,
        "scheme": "Bearer",
        "token": "t",
        "certificate_data": None,
        "private_key_data": None,
        "default_namespace": "mine",
        "proxy_url": None,
    }
