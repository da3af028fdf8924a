"""What needs several rooms: the red team, the comparison of publications, the demo. Used by ``cli`` and ``server``."""
