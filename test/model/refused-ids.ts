// Addresses in which an id is none that its kind accepts: no such object can exist, so neither it nor what lies below it can
// grant anything. Callers who may do what they ask for all the same learn what is wrong with the address; others are refused.
import { Refusal } from './exchange.ts';
import { idsOf, isGoodId, type Place } from './places.ts';
import { mayAll, mayCreate, mayRead, mayWrite } from './rights.ts';
import { refused, type Turn } from './turn.ts';

/** @throws Refusal when an id in the address of the place is none */
export function requireGoodIds(turn: Turn, place: Place): void {
  if (Object.values(idsOf(place)).every(isGoodId)) return;
  if (!mayAsk(turn, place)) throw refused(turn.person);
  throw badPath();
}

/** 400 for an address with an id that is none. */
export function badPath(): Refusal {
  return new Refusal(400, 107, [{ location: 'path', name: null }]);
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
