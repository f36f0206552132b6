// The address of this area: parameters are changed in place, because a search or a filter is no step of the history.
import { pageHashOf } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';

/** Shows the view with other parameters; `''` removes one. */
export function showParameters(query: URLSearchParams, changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  navigate(pageHashOf('operations', next), { replaces: true });
}
