// `coffer types`: writes TypeScript types from the JSON Schema of a collection on a running server.
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { Command } from 'commander';
import { codeOf } from '../../base/system-errors.ts';
import type { CommonOptions } from '../common.ts';
import { credentialHeaders, withCredentials, type CredentialOptions } from '../credentials.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface TypesOptions extends CommonOptions, CredentialOptions {
  readonly name?: string;
  readonly output?: string;
}

const examples = `
Reads the attribute "schema" of the collection, and "record:schema" of its bucket if the caller may read it, and writes
the type of the records and of everything that the schemas refer to. Use the type with @coffer/client:

  import type { Todos } from './todos.ts';
  const todos = coffer.bucket('app').collection<Todos>('todos');

Attributes that the schema does not name are part of the type only if "additionalProperties" allows them explicitly.
"id", "last_modified" and "schema" are left out, because the client adds them. Patterns, lengths and limits have no
type. References to other documents become "unknown".

The credentials may be in the environment: COFFER_TYPES_AUTH=user:password or COFFER_TYPES_BEARER=token.

Exit codes:
  ${exitCodes.done}  the types were written
  ${exitCodes.failed}  the collection cannot be read, or has no schema
  ${exitCodes.usage}  the command line is wrong

Examples:
  coffer types http://127.0.0.1:8888/v1/buckets/app/collections/todos
  coffer types https://coffer.example.org/v1/buckets/app/collections/todos --bearer TOKEN --name Todo --output todo.ts
`;

export function typesCommand(): Command {
  const command = new Command('types')
    .description('write TypeScript types from the schema of a collection')
    .argument('<url>', 'address of the collection')
    .option('--name <type>', 'name of the type (default: from the id of the collection)')
    .option('--output <file>', 'file to write, in place of standard output; an existing one is replaced');
  return withCredentials(command)
    .addHelpText('after', examples)
    .action(async (url: string, _options, self: Command) => {
      await writeTypes(url, self.optsWithGlobals<TypesOptions>());
    });
}

async function writeTypes(url: string, options: TypesOptions): Promise<void> {
  const { NotReadable, parseCollectionUrl, readSchemas } = await import('../types/read-schema.ts');
  const { formatTypes, SchemaTooLarge } = await import('../types/schema-types.ts');
  if (URL.canParse(url) && new URL(url).username !== '') {
    throw new Exit(exitCodes.usage, 'the URL must not contain credentials; use --auth');
  }
  const address = parseCollectionUrl(url);
  if (address === undefined) {
    throw new Exit(
      exitCodes.usage,
      'expected the address of a collection, such as http://127.0.0.1:8888/v1/buckets/app/collections/todos',
    );
  }
  const { name = address.id, output } = options;
  if (options.name !== undefined && !/^[A-Za-z][A-Za-z0-9]*$/.test(name)) {
    throw new Exit(exitCodes.usage, '--name must consist of letters and digits, with a letter first');
  }
  try {
    const { schema, ofBucket, lastModified } = await readSchemas(address, credentialHeaders(options, 'COFFER_TYPES'));
    const schemas = [schema, ofBucket].filter((each) => each !== undefined && each !== null);
    if (schemas.length === 0) {
      throw new NotReadable(
        `${address.collection.href} has no schema. Set its attribute "schema" to a JSON Schema, as in ` +
          '{"data": {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}}',
      );
    }
    const text = `${header(address.collection, lastModified)}\n${formatTypes(schemas, name)}`;
    if (output === undefined) process.stdout.write(text);
    else {
      write(output, text);
      if (options.quiet !== true) print(`Wrote ${output}.`);
    }
  } catch (error) {
    if (error instanceof NotReadable || error instanceof SchemaTooLarge)
      throw new Exit(exitCodes.failed, error.message);
    throw error;
  }
}

function header(collection: URL, lastModified: number | undefined): string {
  const version = lastModified === undefined ? '' : `, version ${lastModified}`;
  return `// Written by \`coffer types\` from the schema of ${collection.href}${version}.\n`;
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    throw new Exit(exitCodes.failed, `${file} cannot be written (${code})`);
  }
}
