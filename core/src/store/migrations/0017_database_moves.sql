-- A move of the whole database to another one. The database that is moved says where it went; the new
-- one says where it came from. Both rows of a move have the same id. While there is a row of role
-- 'source', or one of role 'target' that is not finished, no server uses the database.
CREATE TABLE database_moves (
    id TEXT NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    other_database TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    finished_at BIGINT
);

-- In the new database: how far each table is copied. The key of the last row is a JSON array.
CREATE TABLE database_move_tables (
    table_name TEXT NOT NULL PRIMARY KEY,
    copied_rows BIGINT NOT NULL,
    last_key TEXT NOT NULL
);
