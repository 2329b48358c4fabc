"""Work queues as the asyncjobs engine has them: jobs, queues, and what settles an item.

What the engine calls a task is called a job here, since a task is an exchange of two agents.
"""
