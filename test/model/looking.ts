// Requests of every caller at the end of a history: all existing and deleted objects, in lists and one by one, and queries
// with every operator and order.
import { placeOf } from './places.ts';
import { endOfTime } from './snapshots.ts';
import type { Store } from './store.ts';

/** Each operator, orders and pages. */
const questions = [
  'n=1',
  'not_n=2',
  'lt_n=2',
  'max_n=1',
  'gt_n=1',
  'min_n=1',
  'min_n=2',
  'in_n=1,2,"2"',
  'n=9007199254740992.0',
  'max_n=9007199254740992',
  'exclude_n=1,null',
  'has_s=true',
  'has_n=false',
  'like_s=apple',
  'like_s=a*_',
  'contains_t=a',
  'contains_any_t=["b",1]',
  'o.k=1',
  'id=r',
  'in_id=r,s,c,g,b',
  'not_deleted=true&_since=0',
  '_sort=n,-s',
  '_sort=-n',
  '_sort=-o,id',
  '_sort=id&_limit=2',
  '_limit=1',
].map(encode);

/** Searches of words, in every list where there is something to find. */
const searches = [
  '_q=apple',
  '_q=tea appl*',
  '_q="green tea"&_sort=s',
  '_q=te*&_limit=1',
  '_q=appl* -pie&has_n=true&_sort=_score,n',
].map(encode);

function encode(question: string): string {
  return new URLSearchParams(question).toString();
}

/** A look, or an attempt that must change nothing. */
export interface Look {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What to look at; `closely`: objects as well, and all questions to the longest list. */
export function looksAt(store: Store, closely: boolean): readonly Look[] {
  const looks: Look[] = [];
  const longest = [...store.lists]
    .filter(([path]) => placeOf(path)!.kind !== 'history')
    .reduce((found, [path, { live }]) => (live.size > found.size ? { path, size: live.size } : found), {
      path: '',
      size: 1,
    });
  for (const [path, { live, gone, clock }] of store.lists) {
    looks.push({ path: `${path}?_since=0` });
    const { kind, bucket, collection } = placeOf(path)!;
    if (kind === 'record' && live.size > 0) {
      looks.push({ path: `/buckets/${bucket}/snapshot/collections/${collection}@${endOfTime}` });
    }
    if (kind === 'record' && live.size > 1) looks.push(...searches.map((search) => ({ path: `${path}?${search}` })));
    if (closely) looks.push({ path: `${path}?_since=0&_fields=n` });
    if (!closely || placeOf(path)!.kind === 'history') continue;
    if (path === longest.path) looks.push(...questions.map((question) => ({ path: `${path}?${question}` })));
    for (const id of [...live.keys(), ...gone.keys()]) looks.push({ path: `${path}/${id}` });
    for (const id of live.keys()) looks.push(...attemptsOn(`${path}/${id}`, clock!));
  }
  return looks;
}

/** The status of a refusal shows the permissions of the caller. */
function attemptsOn(path: string, clock: number): readonly Look[] {
  return [
    { path, headers: { 'if-none-match': `"${clock}"` } },
    { method: 'PUT', path, headers: { 'if-none-match': '*' } },
    { method: 'DELETE', path, headers: { 'if-match': '"3"' } },
  ];
}

/** Addresses of all histories. */
export function historiesOf(store: Store): readonly Look[] {
  return [...store.lists.keys()]
    .filter((path) => placeOf(path)!.kind === 'history')
    .map((path) => ({ path: `${path}?_limit=9` }));
}

/** Addresses of the files that records got last; some are there no more. */
export function filesOf(store: Store): readonly string[] {
  return [...store.locations].slice(-3).map((location) => location.slice('/v1'.length));
}
