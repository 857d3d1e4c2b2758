"""The question that each table answers; which method is better is asked by the contest alone."""

from collections.abc import Mapping

from workshop.experiments.contest.tasks import TASKS

#: By table, experiments' and benchmarks'; a task of the contest has its question before its table.
QUESTIONS: Mapping[str, str] = {
    f"contest/{task}": f"Which methods are better than one network on {task}?" for task in TASKS
} | {
    "contest/concrete-predictions": "What do contestants predict for each mixture of concrete?",
    "bandit": "How does a network's doubt change what an agent eats?",
    "bandit-tuning": "Which hyperparameters does each agent of the bandit get?",
    "batch-ensemble-training": "How do start and loss of a BatchEnsemble set its members apart?",
    "batch-ensemble-training-tuning": "Which rate does each start and loss of a BatchEnsemble get?",
    "bayes": "How do weight of the KL, start, draws and steps change a mean-field fit?",
    "bayes-noise": "How noisy is the gradient of a dense layer by each way to draw?",
    "bayesian-cnn": "How do prior and weight of the KL change a Bayesian LeNet-5?",
    "bayesian-cnn-images": "What do a Bayesian LeNet-5's draws say of single images?",
    "digit-networks": "What do small networks say to a digit that a reader draws?",
    "digit-networks-splits": "How sure are members of letters?",
    "uncertainty": "How do stated noise and spread of members follow true noise and error?",
    "uncertainty-tuning": "How many steps does each number of points and each noise get?",
    "embedded-spread": "How far apart do embedded members end, by the mean of modulations?",
    "embedded-training": "How does training move the kernel of an embedded ensemble, by width?",
    "false-words": "How often does each test find what is not there, in contests like ours?",
    "gradient-flow": "How far do weights and kernel of one network move, by width?",
    "homes": "Which method predicts the prices of homes, by one command?",
    "images-out": "Where is a doubled photograph invented, and do networks say so?",
    "next-task": "How much does a member of its own help a later task?",
    "next-task-tuning": "Which rate does each way to learn task after task get?",
    "mc-dropout": "What is due to masks in training, and what to averaging passes?",
    "mc-dropout-curve": "How far are passes apart, by rate and number of points?",
    "nuts": "What is the posterior of a small network?",
    "nuts-distances": "How far is each method from the posterior of a small network?",
    "more-from-one-network": "What does a training hold besides its last network, by its rate?",
    "more-from-one-network-curves": "Where do the functions that one run passes lie apart?",
    "one-table": "How often does one table get a word that is not due, or one that is?",
    "perturbed": "How far is a rank-1 perturbation from a full one, by size?",
    "perturbed-network": "Which network is perturbed, halfway down and at a minimum?",
    "pruning": "What can a mean-field network's weights be spared, by prior?",
    "pruning-tuning": "Which rate does each prior of the pruned networks get?",
    "rank1-training-noise": "How good is one network under the noise of a rank-1 BNN's prior?",
    "rank1-training": "What do prior, start and loss of a rank-1 BNN change, and is it learned?",
    "rank1-training-tuning": "Which rate does each recipe of a rank-1 BNN get?",
    "running-example": "What do methods do at the data and in the gap of one curve?",
    "running-example-curves": "What does each method look like on one curve with a gap?",
    "running-example-tuning": "Which hyperparameters does each method get on that curve?",
    "scaling": "How long does a training step take on two processes, compared with one?",
    "speed-cpu": "How long do a layer's forward and backward passes take?",
    "starts": "How far does turning a trained network into members move its outputs?",
    "deep-ensembles": "Does a published table come back?",
    "whole-models": "How long does a step of a whole model take, and how much memory?",
    "width": "How many members does a width carry?",
    "width-tuning": "Which rate does each width and number of members get?",
    "zoo": "Which architectures can be converted?",
}
