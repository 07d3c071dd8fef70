"""Access from web pages of any origin: keys are sent in headers, never in cookies."""

import falcon

# What every resource answers; ``KeyMiddleware`` refuses all other methods.
METHODS = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(METHODS)
# ``*`` is every header but Authorization; browsers that do not know it find ours by name.
_REQUEST_HEADERS = (
    "*, X-API-Key, Authorization, X-Data-Version, X-Request-Id, Accept, Content-Type, "
    "If-None-Match, If-Range, Range"
)
# Response headers that scripts of other origins may read.
_EXPOSED_HEADERS = ", ".join(
    (
        "X-Service-API-Version",
        "X-Request-Id",
        "X-Data-Version",
        "X-Service-Tier",
        "X-Upgrade-URL",
        "X-Next-Cursor",
        "X-Empty-Reason",
        "Retry-After",
        "RateLimit",
        "RateLimit-Policy",
        "ETag",
        "Accept-Ranges",
        "Allow",
        "Content-Encoding",
        "Content-Length",
        "Content-Location",
        "Content-Range",
        "Deprecation",
        "Sunset",
        "Link",
        "WWW-Authenticate",
    )
)
_ONE_DAY = "86400"
_OF_EVERY_RESPONSE = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED_HEADERS),
)
_OF_OPTIONS = (
    ("Allow", ALLOW),
    ("Access-Control-Allow-Methods", ALLOW),
    ("Access-Control-Allow-Headers", _REQUEST_HEADERS),
    ("Access-Control-Max-Age", _ONE_DAY),
)


class CorsMiddleware:
    """Lets scripts of any origin read every response, errors included.

    The headers do not depend on the request: a response that a cache stored for a client without
    an origin is right for a browser too. Add it first, so that no response goes without them.
    """

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers; answer OPTIONS, whether or not a browser asks before a request."""
        resp.set_headers(_OF_EVERY_RESPONSE)
        if req.method == "OPTIONS" and succeeded:
            resp.set_headers(_OF_OPTIONS)
