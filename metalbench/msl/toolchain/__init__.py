"""What runs other programs and keeps what they made: clang, its messages, linkers, the cache."""
