"""Work queues as the asyncjobs engine has them: tasks, queues, and what settles an item."""
