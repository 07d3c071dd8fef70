"""What both surfaces promise alike: parameters, problems, cursors and shapes of answers."""
