// A backend: stands in front of a built-in one and counts the transactions that were kept and undone. Used by
//
//   storage_backend = coffer-plugin-newsroom/backend
//   permission_backend = coffer-plugin-newsroom/backend
//   counting.inner = sqlite

export const counts = { committed: 0, undone: 0 };

/**
 * @param {import('coffer').DatabaseContext} context
 * @returns {Promise<import('coffer').BackendParts>}
 */
export async function openDatabase({ setting, openBuiltIn }) {
  const inner = await openBuiltIn(setting('counting.inner') ?? 'memory');
  /** Our transactions, and those of the inner database that they stand for. */
  const transactions = new WeakMap();

  /** @type {import('coffer').Database} */
  const database = {
    name: `counting ${inner.database.name}`,
    abilities: inner.database.abilities,
    async begin() {
      const begun = await inner.database.begin();
      const transaction = {
        async commit() {
          await begun.commit();
          counts.committed += 1;
        },
        async rollback() {
          await begun.rollback();
          counts.undone += 1;
        },
      };
      transactions.set(transaction, begun);
      return transaction;
    },
    initializeSchema: (options) => inner.database.initializeSchema(options),
    close: () => inner.database.close(),
  };

  return {
    database,
    // Counters of failed logins and the like are no part of transactions.
    securityState: inner.securityState,
    storage() {
      const storage = inner.storage();
      return { database, reader: storage.reader, writer: (ours) => storage.writer(transactions.get(ours)) };
    },
    permission() {
      const permission = inner.permission();
      return { database, reader: permission.reader, writer: (ours) => permission.writer(transactions.get(ours)) };
    },
  };
}
