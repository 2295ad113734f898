-- Workers who can accept tasks, by skill, by how far they go and by the square of the map where they live.
-- The skill '' counts all of them.
CREATE TABLE worker_totals (
    skill TEXT NOT NULL,
    reach_km BIGINT NOT NULL,
    map_row BIGINT NOT NULL,
    map_column BIGINT NOT NULL,
    workers BIGINT NOT NULL,
    PRIMARY KEY (skill, reach_km, map_row, map_column)
);

-- As what each of them is counted.
CREATE TABLE counted_workers (
    worker_id TEXT NOT NULL PRIMARY KEY,
    reach_km BIGINT NOT NULL,
    map_row BIGINT NOT NULL,
    map_column BIGINT NOT NULL,
    skills TEXT NOT NULL
);

-- Workers who have changed since they were counted.
CREATE TABLE workers_to_count (
    worker_id TEXT NOT NULL PRIMARY KEY,
    changed_at BIGINT NOT NULL
);

-- How far all workers were gone through, and with which skills that an admin has to confirm. When the
-- setting is another one, they are gone through again. Without a worker, that is done.
CREATE TABLE worker_count_walk (
    id BIGINT NOT NULL PRIMARY KEY,
    checked_skills TEXT NOT NULL,
    last_worker TEXT
);

INSERT INTO worker_count_walk (id, checked_skills, last_worker) VALUES (1, '-', '');

-- How soon live tasks were accepted and what their budget was, by category and square of the map, in steps.
CREATE TABLE accept_totals (
    size TEXT NOT NULL,
    square BIGINT NOT NULL,
    category TEXT NOT NULL,
    hours_up_to BIGINT NOT NULL,
    cents_up_to BIGINT NOT NULL,
    tasks BIGINT NOT NULL,
    PRIMARY KEY (size, square, category, hours_up_to, cents_up_to)
);
