"""The second-order oracle in a few lines of numpy, to compare with."""

import numpy as np
import scipy.optimize


class NewtonReference:
    """One logistic regression for each action, as the oracle's pages define it, on all columns."""

    def __init__(self, actions, columns):
        self.mean, self.squares, self.seen = np.zeros(columns), np.zeros(columns), 0.0
        self.prior = np.array([1.0, *[2 + 0.1 * columns] * columns])
        self.weights = np.zeros((actions, columns + 1))
        self.covariance = np.stack([np.diag(1 / self.prior)] * actions)

    def standardised(self, row):
        deviation = np.sqrt(self.squares / max(self.seen, 1))
        varies = deviation > 1e-6 * np.abs(self.mean)
        away = np.where(varies, (row - self.mean) / np.where(varies, deviation, 1), 0)
        return np.array([1, *np.clip(away, -5, 5)])

    def predict(self, row):
        return 1 / (1 + np.exp(-self.weights @ self.standardised(row)))

    def learn(self, row, action, cost, weight=1.0):
        self.see(row, weight)
        self.step(row, action, cost, weight)

    def learn_all(self, row, costs):
        self.see(row, 1.0)
        for action, cost in enumerate(costs):
            self.step(row, action, cost, 1.0)

    def see(self, row, weight):
        self.seen += weight
        before = row - self.mean
        self.mean = self.mean + before * weight / self.seen
        self.squares = self.squares + weight * before * (row - self.mean)

    def step(self, row, action, cost, weight):
        z = self.standardised(row)
        q = self.predict(row)[action]
        h = max(q * (1 - q), 1e-3)
        v = self.covariance[action] @ z
        if weight > 1:  # where the pull of the outcome and that of all before are even
            logit = scipy.optimize.brentq(
                lambda s: s - z @ self.weights[action] + weight * (z @ v) * (1 / (1 + np.exp(-s)) - cost), -50, 50
            )
            q = 1 / (1 + np.exp(-logit))
            h = max(q * (1 - q), 1e-3)
        gain = 1 / (1 / weight + h * (z @ v))
        self.weights[action] -= (weight if weight > 1 else gain) * (q - cost) * v
        self.covariance[action] -= gain * h * np.outer(v, v)
