/** A database with another version is refused. */
export const schemaVersion = 1;

/**
 * Instants are Unix milliseconds (INTEGER). Days (YYYY-MM-DD) and months (YYYY-MM, except in `away`) are in UTC.
 * `changed` numbers the changes of accounts and keys, so that new changes are found without reading all rows. A deleted
 * account keeps its row, so that its id isn't used again.
 */
export const schema = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    name TEXT UNIQUE, -- null once the account is deleted
    plan TEXT NOT NULL,
    burst INTEGER NOT NULL, -- requests per second
    quota INTEGER NOT NULL, -- requests per UTC calendar month
    webhook TEXT, -- where events are posted
    webhook_secret TEXT, -- signs posts
    webhook_old_secret TEXT, -- signs posts too, until
    webhook_old_secret_until INTEGER,
    email TEXT, -- where events are mailed
    suspended_at INTEGER, -- null while the account's keys work
    created_at INTEGER NOT NULL,
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX accounts_changed ON accounts (changed);
  CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again
    account INTEGER NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
    last4 TEXT NOT NULL,
    label TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    replaced_by INTEGER REFERENCES keys (id), -- after its rotation
    changed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX keys_changed ON keys (changed);
  CREATE INDEX keys_account ON keys (account);
  CREATE INDEX keys_replaced ON keys (replaced_by) WHERE replaced_by IS NOT NULL;
  CREATE TABLE key_days ( -- when this server last admitted a key
    key INTEGER PRIMARY KEY REFERENCES keys (id) ON DELETE CASCADE,
    day TEXT NOT NULL -- YYYY-MM-DD
  ) STRICT;
  CREATE TABLE usage (
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL, -- YYYY-MM
    used INTEGER NOT NULL,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE days (
    account INTEGER NOT NULL REFERENCES accounts (id),
    day TEXT NOT NULL, -- YYYY-MM-DD
    used INTEGER NOT NULL, -- of the month, up to the last time it was saved on that day
    PRIMARY KEY (account, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE events (
    id TEXT PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (id),
    month TEXT NOT NULL,
    threshold INTEGER NOT NULL, -- percent of the quota
    quota INTEGER NOT NULL,
    payload TEXT NOT NULL, -- JSON, as it is posted
    created_at INTEGER NOT NULL,
    UNIQUE (account, month, threshold, quota)
  ) STRICT;
  CREATE TABLE deliveries ( -- of events, by the channels that the account had then
    event TEXT NOT NULL REFERENCES events (id),
    channel TEXT NOT NULL, -- webhook, email
    state TEXT NOT NULL, -- pending, delivered, failed
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at INTEGER,
    last_answer TEXT,
    PRIMARY KEY (event, channel)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deliveries_due ON deliveries (channel, next_try_at) WHERE state = 'pending';
  CREATE TABLE signups ( -- accounts that people made themselves, and links that were mailed for it
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    mailbox TEXT NOT NULL, -- the e-mail address, in the one form that all its spellings have
    address TEXT, -- the client's IPv4 address or IPv6 /64; forgotten after a day
    account INTEGER REFERENCES accounts (id), -- null until the link is used
    token BLOB UNIQUE, -- SHA-256 of the link's token; it, name and email until the link is used
    name TEXT,
    email TEXT
  ) STRICT;
  CREATE INDEX signups_recent ON signups (created_at) WHERE address IS NOT NULL;
  CREATE INDEX signups_mailbox ON signups (mailbox);
  CREATE UNIQUE INDEX signups_account ON signups (mailbox) WHERE account IS NOT NULL;
  CREATE TABLE versions ( -- all data versions that were ever served, so that a number never names other content
    version TEXT PRIMARY KEY, -- <year>.<revision>
    sha256 TEXT NOT NULL, -- of content and provenance
    content_sha256 TEXT NOT NULL, -- of the rows alone
    first_served INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE obeyed ( -- one row: the last change of each table that the server has applied
    accounts INTEGER NOT NULL,
    keys INTEGER NOT NULL
  ) STRICT;
  INSERT INTO obeyed VALUES (0, 0);
  CREATE TABLE saved ( -- one row, or none: when counts were last saved, or a command or the portal changed something
    at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE directory ( -- one row, or none: the version of the shared accounts, keys and events that this copies
    version INTEGER NOT NULL,
    id TEXT NOT NULL -- of the change that made the version
  ) STRICT;
  CREATE TABLE away ( -- months in which requests were admitted while the shared database was away, until it counts them
    id TEXT PRIMARY KEY,
    month INTEGER NOT NULL, -- 12 times the year, plus 0 for January
    since INTEGER NOT NULL -- when the database went away; 0 once it is back
  ) STRICT;
  CREATE TABLE away_used (
    away TEXT NOT NULL REFERENCES away (id) ON DELETE CASCADE,
    account INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (away, account)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER accounts_deleted AFTER UPDATE OF name ON accounts WHEN NEW.name IS NULL BEGIN
    DELETE FROM deliveries WHERE event IN (SELECT id FROM events WHERE account = NEW.id);
    DELETE FROM events WHERE account = NEW.id;
    DELETE FROM signups WHERE account = NEW.id;
    DELETE FROM keys WHERE account = NEW.id;
    DELETE FROM usage WHERE account = NEW.id;
    DELETE FROM days WHERE account = NEW.id;
  END;
`;

export const nextChange = `(SELECT 1 + max((SELECT coalesce(max(changed), 0) FROM accounts),
  (SELECT coalesce(max(changed), 0) FROM keys)))`;

interface AccountTable {
  key: readonly string[];
  /** The column with the account's id, or with the id of a row in the table `through`. */
  owner: string;
  through?: "keys" | "events";
  /** Whether servers share the table's rows through PostgreSQL. */
  isShared: boolean;
  /** The columns that are exported and imported, apart from `changed`. */
  moved: "all" | "none" | readonly string[];
  /** Whether the table has the column `changed`. */
  isCounted: boolean;
}

/**
 * The tables with rows of accounts, except `away_used`. A table's rows refer only to rows of the same table or of a
 * table before it.
 */
export const accountTables = {
  accounts: { key: ["id"], owner: "id", isShared: true, moved: "all", isCounted: true },
  keys: { key: ["id"], owner: "account", isShared: true, moved: "all", isCounted: true },
  key_days: { key: ["key"], owner: "key", through: "keys", isShared: false, moved: "none", isCounted: false },
  usage: { key: ["account", "month"], owner: "account", isShared: false, moved: "all", isCounted: false },
  days: { key: ["account", "day"], owner: "account", isShared: false, moved: "all", isCounted: false },
  events: { key: ["id"], owner: "account", isShared: true, moved: "all", isCounted: false },
  deliveries: {
    ...{ key: ["event", "channel"], owner: "event", through: "events" },
    ...{ isShared: true, moved: "all", isCounted: false },
  },
  signups: {
    ...{ key: ["id"], owner: "account", isShared: true, isCounted: false },
    // Clients' addresses and unused links aren't exported.
    moved: ["account", "mailbox", "created_at"],
  },
} as const satisfies Record<string, AccountTable>;

type Tables = typeof accountTables;
type TablesWith<Property> = {
  [Name in keyof Tables]: Tables[Name] extends Property ? Name : never;
}[keyof Tables];
export type SharedTable = TablesWith<{ isShared: true }>;
export type MovedTable = Exclude<keyof Tables, TablesWith<{ moved: "none" }>>;

const names = Object.keys(accountTables) as (keyof Tables)[];
export const sharedTables = names.filter((name): name is SharedTable => accountTables[name].isShared);
export const movedTables = names.filter((name): name is MovedTable => accountTables[name].moved !== "none");
