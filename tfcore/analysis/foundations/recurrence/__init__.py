"""Recurrent networks beside a Transformer: the gradient that arrives, trainings of equal size, time, alignment."""
