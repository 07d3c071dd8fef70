"""The manifest of the bulk exports."""

import falcon
import msgspec

from api import endpoints, params
from api.answers import pinned, send
from api.hosts import follow
from warehouse.read.exports import export_manifest
from warehouse.read.mart import Mart
from warehouse.wire import encode, joined

_MEMBERS = ("generated_at", "signature_url", "datapackage_url")
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARTIFACTS = msgspec.json.Decoder(list[msgspec.Raw])


class Export:
    """Answers with what a build exported; of a build that exported nothing, an empty list."""

    endpoint = endpoints.EXPORT

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the manifest and the licence notice."""
        params.read(req, self.endpoint)
        build = pinned(req, self._mart).build()
        told = export_manifest(self._mart.at(build.data_version))
        held = {name: bytes(each) for name, each in _RAW.decode(told or b"{}").items()}
        artifacts = held.pop("artifacts", b"[]")
        members = {
            "data_version": encode(build.data_version),
            **dict.fromkeys(_MEMBERS, b"null"),
            "artifacts": artifacts,
            "failed": b"[]",
            **held,
            "count": encode(len(_ARTIFACTS.decode(artifacts))),
            "_license": encode(build.notice),
        }
        send(resp, follow(req, joined(members)), build.data_version)

    on_head = on_get
