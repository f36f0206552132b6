// Credentials of commands that read a running server: options, environment, and the headers made of them.
import process from 'node:process';
import type { Command } from 'commander';
import { Exit, exitCodes } from './exit-codes.ts';

export interface CredentialOptions {
  readonly auth?: string;
  readonly bearer?: string;
  readonly header?: readonly string[];
}

/** Adds `--auth`, `--bearer` and `--header` to a command. */
export function withCredentials(command: Command): Command {
  return command
    .option('--auth <user:password>', 'credentials for Basic authentication')
    .option('--bearer <token>', 'access token')
    .option('--header <name: value>', 'additional header; may be repeated', collect);
}

function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/**
 * Returns the headers of every request, with names in lower case.
 *
 * @param prefix of the variables with credentials: `<prefix>_AUTH` and `<prefix>_BEARER`
 * @throws Exit when the options contradict each other or are malformed
 */
export function credentialHeaders(
  { auth, bearer, header = [] }: CredentialOptions,
  prefix: string,
): Readonly<Record<string, string>> {
  const user = auth ?? (bearer === undefined ? process.env[`${prefix}_AUTH`] : undefined);
  const token = bearer ?? (user === undefined ? process.env[`${prefix}_BEARER`] : undefined);
  if (user !== undefined && token !== undefined) throw new Exit(exitCodes.usage, 'give either --auth or --bearer');
  if (user !== undefined && !user.includes(':')) throw new Exit(exitCodes.usage, '--auth must be user:password');
  const pairs = header.map((text) => {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Exit(exitCodes.usage, '--header must be "Name: value"');
    return [name.toLowerCase(), value] as const;
  });
  return {
    ...Object.fromEntries(pairs),
    ...(user === undefined ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}
