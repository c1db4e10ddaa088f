"""A run on two Ray nodes of this machine, one of which dies."""

import warnings

import pytest

from admiral import Admiral
from admiral.cluster import retrieve_on_cluster, worker_config
from admiral.config import ClusterOptions
from tests.admiral.results import assert_close, without_timings


@pytest.fixture
def cluster(user_cache):
    """Start a head with room for all workers, and a second node."""
    ray = pytest.importorskip("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Ray's imports and shutdown
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=head)
        try:
            made.add_node(num_cpus=1, object_store_memory=100 * 2**20)
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.mark.slow
def test_no_claim_is_lost_when_a_node_dies(cluster, config, claims):
    options = ClusterOptions(ray_address=cluster.address, workers=2)
    outcomes = []
    for outcome in retrieve_on_cluster(config, claims, options):
        outcomes.append(outcome)
        if len(outcomes) == 4:
            cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
    assert [outcome["id"] for outcome in outcomes] == [claim.id for claim in claims]
    assert [outcome["id"] for outcome in outcomes if "error" in outcome] == ["bad"]
    good = [claim for claim in claims if claim.id != "bad"]
    with Admiral.from_pretrained(config=worker_config(config, options)) as system:
        expected = [without_timings(result.to_json()) for result in system.retrieve_many(good)]
    assert_close([without_timings(o) for o in outcomes if "error" not in o], expected)
