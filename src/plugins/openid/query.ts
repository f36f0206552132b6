// Reading what a browser brings along in the query of a login.
import type { Issue } from '../../core/errors.ts';
import { invalidParameters, type ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { Provider, Providers } from './provider.ts';

/** The provider that the path names. */
export function requireProvider({ parameters }: Context, providers: Providers): Provider {
  const provider = providers.get(parameters['provider'] ?? '');
  if (provider === undefined) throw refuse({ location: 'path', name: 'provider', description: 'unknown provider' });
  return provider;
}

/** A parameter that may be given once; one that is given twice is complained about. */
export function readOnce({ query }: Context, name: string, issues: Issue[]): string | undefined {
  const values = query.flatMap(([key, value]) => (key === name ? [value] : []));
  if (values.length > 1) issues.push(inQuery(name, 'given more than once'));
  return values[0];
}

/** The same for one that must be given; empty when it is not, with a complaint. */
export function requireOnce(context: Context, name: string, issues: Issue[]): string {
  const value = readOnce(context, name, issues) ?? '';
  if (value === '') issues.push(inQuery(name, 'Required'));
  return value;
}

export function inQuery(name: string, description: string): Issue {
  return { location: 'querystring', name, description };
}

/** The error for one thing that is wrong. */
export function refuse(issue: Issue): ServiceError {
  return invalidParameters([issue]);
}
