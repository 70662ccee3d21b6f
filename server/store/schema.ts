import { versionsTable } from "../../datasets/registry.ts";

/** The state database's form, as SQL. */

export const schemaVersion = 7;

/** Up to version 4 an event had one delivery, by webhook, in its own row. */
const eventsTable2 = `
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL,
    quota INTEGER NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    last_answer TEXT,
    UNIQUE (account, month, threshold, quota)
  ) STRICT;
  CREATE INDEX events_due ON events (next_try_at) WHERE state = 'pending';`;

const deliveriesTable = `
  CREATE TABLE deliveries ( -- of events, by the channels that the account had then
    event TEXT NOT NULL REFERENCES events (id),
    channel TEXT NOT NULL, -- webhook, email
    state TEXT NOT NULL, -- pending, delivered, failed
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at TEXT,
    last_answer TEXT,
    PRIMARY KEY (event, channel)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deliveries_due ON deliveries (channel, next_try_at) WHERE state = 'pending';`;

const signupsTable = `
  CREATE TABLE signups ( -- accounts that people made themselves, and links that were mailed for it
    id INTEGER PRIMARY KEY,
    created_at TEXT NOT NULL,
    mailbox TEXT NOT NULL, -- the e-mail address, in the one form that all its spellings have
    address TEXT, -- the client's IPv4 address or IPv6 /64; forgotten after a day
    account INTEGER REFERENCES accounts (id), -- null until the link is used
    token BLOB UNIQUE, -- SHA-256 of the link's token; it, name and email until the link is used
    name TEXT,
    email TEXT
  ) STRICT;
  CREATE INDEX signups_recent ON signups (created_at) WHERE address IS NOT NULL;
  CREATE INDEX signups_mailbox ON signups (mailbox);
  CREATE UNIQUE INDEX signups_account ON signups (mailbox) WHERE account IS NOT NULL;`;

const obeyedTable = `
  CREATE TABLE IF NOT EXISTS obeyed ( -- one row: up to which change the server has taken over each table
    accounts INTEGER NOT NULL,
    keys INTEGER NOT NULL
  ) STRICT;
  INSERT INTO obeyed SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM obeyed);`;

const daysTable = `
  CREATE TABLE days (
    account INTEGER NOT NULL REFERENCES accounts (id),
    day TEXT NOT NULL, -- YYYY-MM-DD
    used INTEGER NOT NULL, -- of the month, up to the last time it was saved on that day
    PRIMARY KEY (account, day)
  ) STRICT, WITHOUT ROWID;`;

const leasesTables = `
  CREATE TABLE leases ( -- what this server may count of a quota, in all, by what it was granted
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL, -- YYYY-MM
    granted INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE replica ( -- one row: this server among those that share a Redis; none before it was one of them
    id TEXT NOT NULL,
    starts INTEGER NOT NULL,
    members INTEGER NOT NULL -- when last heard of
  ) STRICT;`;

const directoryTable = `
  CREATE TABLE directory ( -- one row, or none: up to where accounts, keys and events are a copy of those in Redis
    epoch TEXT NOT NULL,
    version INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE directory_rows ( -- rows of those, also such that are gone, with the version in which each changed last
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL UNIQUE
  ) STRICT, WITHOUT ROWID;`;

/** In which Redis was told again what it may have lost. */
const lifeColumn = `
  ALTER TABLE directory ADD COLUMN life TEXT NOT NULL DEFAULT '';`;

/** Each brings a database of one version to the next, the first one from version 1. */
export const migrations = [
  `
  ALTER TABLE accounts ADD COLUMN webhook_old_secret TEXT;
  ALTER TABLE accounts ADD COLUMN webhook_old_secret_until TEXT;
  ALTER TABLE events RENAME TO events_before;
  DROP INDEX events_due;
  ${eventsTable2}
  INSERT INTO events SELECT id, account, month, threshold, payload ->> '$.data.quota.limit', payload, created_at,
    state, tries, next_try_at, last_answer FROM events_before;
  DROP TABLE events_before;
  ${versionsTable}
  ${obeyedTable}`,
  // The first states of version 2 had no such table yet.
  `${obeyedTable}
  ALTER TABLE keys ADD COLUMN replaced_by INTEGER REFERENCES keys (id);`,
  daysTable,
  `
  ALTER TABLE accounts ADD COLUMN email TEXT;
  CREATE INDEX keys_account ON keys (account);
  ${deliveriesTable}
  INSERT INTO deliveries SELECT id, 'webhook', state, tries, next_try_at, last_answer FROM events WHERE state <> 'none';
  DROP INDEX events_due;
  ${["state", "tries", "next_try_at", "last_answer"].map((name) => `ALTER TABLE events DROP COLUMN ${name};`).join("\n  ")}
  ${signupsTable}`,
  leasesTables + directoryTable,
  lifeColumn,
];

/** `changed` counts a table's changes up: what is new since the last look is found without reading the rest. */
export const schema = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    burst INTEGER NOT NULL, -- requests per second
    quota INTEGER NOT NULL, -- requests per UTC calendar month
    webhook TEXT, -- where events are posted
    webhook_secret TEXT, -- what they are signed with
    webhook_old_secret TEXT, -- what they are signed with as well, until
    webhook_old_secret_until TEXT,
    created_at TEXT NOT NULL,
    changed INTEGER NOT NULL,
    email TEXT -- where events are mailed
  ) STRICT;
  CREATE INDEX accounts_changed ON accounts (changed);
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
    last4 TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    changed INTEGER NOT NULL,
    replaced_by INTEGER REFERENCES keys (id) -- after its rotation
  ) STRICT;
  CREATE INDEX keys_changed ON keys (changed);
  CREATE INDEX keys_account ON keys (account);
  CREATE TABLE usage (
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL, -- YYYY-MM
    used INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
${daysTable}
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL, -- percent of the quota
    quota INTEGER NOT NULL,
    payload TEXT NOT NULL, -- JSON, as it is posted
    created_at TEXT NOT NULL,
    UNIQUE (account, month, threshold, quota)
  ) STRICT;
${deliveriesTable}
${signupsTable}
${versionsTable}
${obeyedTable}
${leasesTables}
${directoryTable}
${lifeColumn}
`;
