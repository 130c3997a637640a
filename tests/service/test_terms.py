"""Which runs take a query that is offered to them."""

from __future__ import annotations

from dovetail.service.terms import file_of, run_terms, same_terms, service_terms, terms_of


def test_a_run_takes_queries_of_other_files_on_the_same_terms() -> None:
    given = run_terms("stream", "local[2]", {}, None, None)
    here = terms_of("/app.pql", **given)
    for origin in ("/app.pql", "/new.pql", None):  # None: a rollback
        assert same_terms(terms_of(origin, **given), here)
    for other in (
        run_terms("stream", "local[1]", {}, None, None),
        run_terms("stream", "local[2]", {"a": "b"}, None, None),
        run_terms("stream", "local[2]", {}, "/index", None),
        run_terms("stream", "local[2]", {}, None, 9000),
    ):
        assert not same_terms(terms_of("/app.pql", **other), here)
    assert not same_terms({**here, "code": "of another release"}, here)


def test_a_run_of_the_service_takes_queries_of_the_service_alone() -> None:
    """It would start the old query again without asking."""
    service, here = service_terms("local[2]"), run_terms("stream", "local[2]", {}, None, None)
    assert same_terms(service, service)
    for origin in ("/app.pql", None):
        assert not same_terms(terms_of(origin, **here), service)
        assert not same_terms(service, terms_of(origin, **here))
    assert file_of(service) is None
    assert file_of(terms_of("/app.pql", **here)) == "/app.pql"
