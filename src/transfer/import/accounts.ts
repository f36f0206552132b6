// Imports the accounts that the source shows. Here they are one list. Kinto keeps each in a list of its own, where two
// may have one timestamp; one of them gets the next free timestamp here.
import { getKey } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isTombstone, StoredObject } from '../../core/objects/stored.ts';
import type { SortKey } from '../../core/query/ast.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { accountList, accountPrincipal, accountUri } from '../../plugins/accounts/account.ts';
import { formatPermissions } from '../copy/digest.ts';
import type { Compared, Side } from '../copy/verify.ts';
import { isUnfit } from './entries.ts';
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
  const problems: string[] = [];
  const differences: string[] = [];
  let [objects, same] = [0, 0];
  for (const account of accounts) {
    if (isUnfit(account)) {
      problems.push(`${accountUri(account.id)} cannot be stored: ${account.reason}`);
      continue;
    }
    if (isTombstone(account)) continue;
    const password = getKey(account.attributes, 'password');
    if (typeof password !== 'string' || !hash.test(password)) {
      problems.push(`${accountUri(account.id)} was left out: the source does not show the hash of its password`);
      continue;
    }
    objects++;
    if (writes) await importAccount(target, account);
    if ((await compare(target, account)) === 'same') same++;
    else if (differences.length < maxNamed) differences.push(`${accountUri(account.id)} is different in the target`);
  }
  const side = (count: number): Side => ({ lists: 0, objects: count, tombstones: 0, digest: '' });
  return { compared: { name: 'accounts', source: side(objects), target: side(same), differences }, problems };
}

/** Writes an account that is missing, or that the source changed later. An account that was changed here stays as it is. */
async function importAccount(target: Stores, account: StoredObject): Promise<void> {
  if ((await compare(target, account)) !== 'older') return;
  const timestamp = await freeTimestamp(target, account);
  const put = new StoredObject(account.id, timestamp, account.text);
  const known = await target.permission.reader.getObjectPermissions(accountUri(account.id));
  await writeChanges(target, list, { changes: [{ put, permissions: owned(account.id), known }], clock: 0 });
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

const byTime: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

/** Returns the timestamp of the account, or the first one after it that no other account has. */
async function freeTimestamp({ storage }: Stores, { id, lastModified }: StoredObject): Promise<number> {
  for (let timestamp = lastModified; ; timestamp++) {
    const filter = { field: lastModifiedField, operator: 'eq', value: timestamp } as const;
    const query = { filters: [filter], includeDeleted: true, sort: byTime, limit: 1 };
    const [holder] = (await storage.reader.listAll(accountList, query)).entries;
    if (holder === undefined || holder.id === id) return timestamp;
  }
}
