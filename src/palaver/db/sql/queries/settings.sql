-- What holds for the store as a whole.

-- name: get_setting
SELECT value FROM settings WHERE name = :name;

-- name: put_setting
INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value;
