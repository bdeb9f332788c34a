echo '{"words": ["a", "b"], "weights": [[1, 2, 3], [1, 2, 3]]}' | graphrun plot --arcs -
