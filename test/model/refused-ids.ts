// Addresses in which an id is none that its kind accepts: no such object can exist, so neither it nor what lies below it can
// grant anything. Callers who may do what they ask for all the same learn what is wrong with the address; others are refused.
import { requireNone, type Issue } from './exchange.ts';
import { idsOf, isGoodId, placeOf, type Place } from './places.ts';
import { mayAll, mayCreate, mayRead, mayWrite } from './rights.ts';
import type { Entries } from './store.ts';
import { refused, type Turn } from './turn.ts';

/**
 * @param more what else is wrong with the address
 * @throws Refusal when anything is
 */
export function requireGoodIds(turn: Turn, place: Place, more: readonly Issue[] = []): void {
  const issues = [...badIds(place), ...more];
  if (issues.length > 0 && !mayAsk(turn, place)) throw refused(turn.person);
  requireNone(issues);
}

/** One issue for each id in the address that is none. */
export function badIds(place: Place): readonly Issue[] {
  return Object.values(idsOf(place))
    .filter((id) => !isGoodId(id))
    .map(() => ['path', null]);
}

/** @throws Refusal when an entry names a group that cannot exist; the first one that the service finds is enough */
export function requirePossibleGroups({ hint }: Turn, entries: Entries): void {
  const wrong = [...entries].filter(([, principals]) => [...principals].some(isImpossibleGroup)).map(([name]) => name);
  if (wrong.length === 0) return;
  const answer = JSON.stringify(hint.body) ?? '';
  const found = wrong.find((name) => answer.includes(`"permissions.${name}"`)) ?? wrong[0]!;
  requireNone([['body', `permissions.${found}`]]);
}

function isImpossibleGroup(principal: string): boolean {
  const place = placeOf(principal);
  return place?.kind === 'group' && place.id !== undefined && badIds(place).length > 0;
}

function mayAsk({ store, person, ask }: Turn, place: Place): boolean {
  const isList = place.id === undefined;
  switch (ask.method) {
    case 'POST':
      return mayCreate(store, person, place);
    case 'PUT':
      return mayWrite(store, person, place) || mayCreate(store, person, place);
    case 'PATCH':
      return mayWrite(store, person, place);
    case 'DELETE':
      return isList ? mayAll(store, person, place, 'write') : mayWrite(store, person, place);
    default:
      return isList ? mayAll(store, person, place, 'read') : mayRead(store, person, place);
  }
}
