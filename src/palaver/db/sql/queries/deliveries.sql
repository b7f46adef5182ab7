-- Deliveries of triggers.

-- name: find_delivery
SELECT session_id, turn_id, payload FROM deliveries WHERE source = :source AND delivery_id = :delivery;

-- name: insert_delivery
INSERT INTO deliveries (source, delivery_id, session_id, turn_id, payload, at)
VALUES (:source, :delivery, :session, :turn, :payload, :at);
