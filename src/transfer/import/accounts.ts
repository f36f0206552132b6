// Imports the accounts that the source shows. Here they are one list. Kinto keeps each in a list of its own, where two
// may have one timestamp; one of them gets the next free timestamp here.
import { getKey } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isTombstone, StoredObject, type StoredEntry } from '../../core/objects/stored.ts';
import { latestImportedTimestamp } from '../../core/objects/timestamps.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { oldestFirst } from '../../engine/walk.ts';
import { compareTimes } from '../../maintenance/walk.ts';
import { accountList, accountPrincipal, accountUri } from '../../plugins/accounts/account.ts';
import { formatPermissions } from '../copy/digest.ts';
import type { Compared, Side } from '../copy/verify.ts';
import { isUnfit, type Unfit } from './entries.ts';
import type { SourceList } from './lists.ts';
import type { Source } from './source.ts';
import { writeChanges } from './write-changes.ts';

/** The form of password hashes that can be checked here too. */
const hash = /^\$(?:2[aby]|scrypt)\$.{20}/;
const maxNamed = 5;

const list: SourceList = {
  ...accountList,
  name: '/accounts',
  path: 'accounts',
  uriOf: accountUri,
  hasObjects: true,
  hasChildren: false,
};

export interface AccountsReport {
  readonly compared: Compared;
  readonly problems: readonly string[];
}

/** Imports or compares the accounts; returns `undefined` when the source shows none. */
export async function importAccounts(
  source: Source,
  target: Stores,
  { writes }: { readonly writes: boolean },
): Promise<AccountsReport | undefined> {
  const accounts = await source.listAll(list.path);
  if (accounts === 'hidden') return undefined;
  const timestamps = new FreeTimestamps(target);
  const problems: string[] = [];
  const differences: string[] = [];
  let [objects, same] = [0, 0];
  for (const { id, reason } of accounts.filter(isUnfit)) {
    problems.push(`${accountUri(id)} cannot be stored: ${reason}`);
  }
  for (const account of accounts.filter(isAccount).toSorted(compareTimes)) {
    const password = getKey(account.attributes, 'password');
    if (typeof password !== 'string' || !hash.test(password)) {
      problems.push(`${accountUri(account.id)} was left out: the source does not show the hash of its password`);
      continue;
    }
    if (writes && !(await importAccount(target, account, timestamps))) {
      problems.push(
        `${accountUri(account.id)} cannot be stored: other accounts have all timestamps from ${account.lastModified} to ` +
          `${latestImportedTimestamp}, the latest one`,
      );
      continue;
    }
    objects++;
    if ((await compare(target, account)) === 'same') same++;
    else if (differences.length < maxNamed) differences.push(`${accountUri(account.id)} is different in the target`);
  }
  const side = (count: number): Side => ({ lists: 0, objects: count, tombstones: 0, digest: '' });
  return { compared: { name: 'accounts', source: side(objects), target: side(same), differences }, problems };
}

function isAccount(entry: StoredEntry | Unfit): entry is StoredObject {
  return !isUnfit(entry) && !isTombstone(entry);
}

/**
 * Writes an account that is missing, or that the source changed later. An account that was changed here stays as it is.
 *
 * @returns `false` when no timestamp is free for it
 */
async function importAccount(target: Stores, account: StoredObject, timestamps: FreeTimestamps): Promise<boolean> {
  if ((await compare(target, account)) !== 'older') return true;
  const timestamp = await timestamps.find(account);
  if (timestamp === undefined) return false;
  const put = new StoredObject(account.id, timestamp, account.text);
  const known = await target.permission.reader.getObjectPermissions(accountUri(account.id));
  await writeChanges(target, list, { changes: [{ put, permissions: owned(account.id), known }], clock: 0 });
  return true;
}

function owned(id: string): ObjectPermissions {
  return { write: [accountPrincipal(id)] };
}

async function compare({ storage, permission }: Stores, account: StoredObject): Promise<'same' | 'older' | 'newer'> {
  const stored = await storage.reader.get(accountList, account.id);
  if (stored === undefined) return 'older';
  if (stored.text !== account.text) return stored.lastModified > account.lastModified ? 'newer' : 'older';
  const permissions = await permission.reader.getObjectPermissions(accountUri(account.id));
  return formatPermissions(permissions) === formatPermissions(owned(account.id)) ? 'same' : 'older';
}

/** Finds timestamps that no other account has, for accounts in the order of their timestamps. */
class FreeTimestamps {
  readonly #target: Stores;
  /** First timestamp after the last one found. Others between that of an account and this one are in use. */
  #next = 0;

  constructor(target: Stores) {
    this.#target = target;
  }

  /** Returns the timestamp of the account, or the first free one after it; `undefined` when none is left. */
  async find({ id, lastModified }: StoredObject): Promise<number | undefined> {
    // Many accounts with one timestamp would take quadratic time, if each search began there.
    let timestamp = Math.max(lastModified, this.#next);
    while (timestamp <= latestImportedTimestamp && !(await this.#isFree(timestamp, id))) timestamp++;
    this.#next = timestamp + 1;
    return timestamp <= latestImportedTimestamp ? timestamp : undefined;
  }

  /** Whether no account but this one has the timestamp. */
  async #isFree(timestamp: number, id: string): Promise<boolean> {
    const filter = { field: lastModifiedField, operator: 'eq', value: timestamp } as const;
    const query = { filters: [filter], includeDeleted: true, sort: oldestFirst, limit: 1 };
    const [holder] = (await this.#target.storage.reader.listAll(accountList, query)).entries;
    return holder === undefined || holder.id === id;
  }
}
