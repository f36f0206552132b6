// A request as code: curl, fetch and kinto.js. Credentials are placeholders, never those of the user.
import { serviceUrl } from '../../core/api.ts';
import { isObjectText } from '../../core/json-text.ts';

export interface CodeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `Authorization` of the session; only its scheme is shown. */
  readonly authorization: string | undefined;
}

export const languages = ['curl', 'fetch', 'kinto.js'] as const;
export type Language = (typeof languages)[number];

export function codeOf(language: Language, request: CodeRequest): string {
  if (language === 'curl') return asCurl(request);
  return language === 'fetch' ? asFetch(request) : asKinto(request);
}

const secretHeaders = /^(?:authorization|cookie|proxy-authorization)$/i;

/** Returns the headers without secrets, and with the media type that a body needs. */
function headersOf({ headers, body }: CodeRequest): readonly (readonly [string, string])[] {
  const given = Object.entries(headers).filter(([name]) => !secretHeaders.test(name));
  const hasType = given.some(([name]) => name.toLowerCase() === 'content-type');
  return body === '' || hasType ? given : [['Content-Type', 'application/json'], ...given];
}

function schemeOf({ authorization, headers }: CodeRequest): string | undefined {
  const typed = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return (typed ?? authorization)?.split(' ')[0];
}

/** Quotes a text for a shell. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Quotes a text for JavaScript. Its `<` cannot end a script element that the code is pasted into. */
function scriptQuote(text: string): string {
  const quoted = JSON.stringify(text).replaceAll('</', String.raw`<\/`);
  return text.includes("'") || quoted.includes('\\') ? quoted : `'${quoted.slice(1, -1)}'`;
}

function asCurl(request: CodeRequest): string {
  const { method, url, body } = request;
  const scheme = schemeOf(request);
  const parts = [
    method === 'HEAD' ? 'curl -I' : method === 'GET' ? 'curl' : `curl -X ${method}`,
    ...(scheme === undefined
      ? []
      : [scheme === 'Basic' ? '-u "$NAME:$PASSWORD"' : `-H "Authorization: ${shellWord(scheme)} $TOKEN"`]),
    ...headersOf(request).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === '' ? [] : [`--data-raw ${shellQuote(body)}`]),
    shellQuote(url),
  ];
  return parts.join(' \\\n  ');
}

/** Removes what a shell would read in double quotes. */
function shellWord(text: string): string {
  return text.replaceAll(/[^\w-]/g, '');
}

function authorizationCode(request: CodeRequest): readonly string[] {
  const scheme = schemeOf(request);
  if (scheme === undefined) return [];
  return [
    scheme === 'Basic'
      ? 'Authorization: `Basic ${btoa(`${name}:${password}`)}`,'
      : `Authorization: \`${shellWord(scheme)} \${token}\`,`,
  ];
}

function headerLines(request: CodeRequest): readonly string[] {
  return [
    ...authorizationCode(request),
    ...headersOf(request).map(([name, value]) => `${scriptQuote(name)}: ${scriptQuote(value)},`),
  ];
}

function inBraces(name: string, lines: readonly string[], indent: string): readonly string[] {
  return lines.length === 0 ? [] : [`${indent}${name}: {`, ...lines.map((line) => `${indent}  ${line}`), `${indent}},`];
}

function asFetch(request: CodeRequest): string {
  const { method, url, body } = request;
  return [
    ...placeholders(request),
    `const response = await fetch(${scriptQuote(url)}, {`,
    `  method: ${scriptQuote(method)},`,
    ...inBraces('headers', headerLines(request), '  '),
    ...(body === '' ? [] : [`  body: ${scriptQuote(body)},`]),
    '});',
    `console.log(response.status, ${method === 'HEAD' ? '[...response.headers]' : 'await response.json()'});`,
  ].join('\n');
}

function placeholders(request: CodeRequest): readonly string[] {
  const scheme = schemeOf(request);
  if (scheme === undefined) return [];
  return scheme === 'Basic' ? ["const [name, password] = ['NAME', 'PASSWORD'];"] : ["const token = 'TOKEN';"];
}

function asKinto(request: CodeRequest): string {
  const { method, url, body } = request;
  const { pathname, search } = new URL(url);
  const path = pathname.slice(new URL(serviceUrl).pathname.length - 1);
  const call = methodCall(request, path, search) ?? [
    'const response = await client.execute({',
    `  method: ${scriptQuote(method)},`,
    `  path: ${scriptQuote(path + search)},`,
    // `execute` does not send the headers of the client.
    ...inBraces('headers', headerLines(request), '  '),
    ...(isObjectText(body.trim()) ? [`  body: JSON.parse(${scriptQuote(body)}),`] : []),
    '});',
    'console.log(response);',
  ];
  return [
    "import { KintoClient } from 'kinto';",
    '',
    ...placeholders(request),
    `const client = new KintoClient(${scriptQuote(serviceUrl.replace(/\/$/, ''))}, {`,
    ...inBraces('headers', authorizationCode(request), '  '),
    '});',
    ...call,
  ].join('\n');
}

/** Returns the method of kinto.js for reads and deletions of records; `undefined` for other requests. */
function methodCall({ method, headers }: CodeRequest, path: string, search: string): readonly string[] | undefined {
  const [, bucket, collection, record] =
    /^\/buckets\/([^/]+)\/collections\/([^/]+)\/records(?:\/([^/]+))?\/?$/.exec(path) ?? [];
  if (bucket === undefined || collection === undefined || Object.keys(headers).length > 0) return undefined;
  const quote = (part: string): string => scriptQuote(decodeURIComponent(part));
  const records = `client.bucket(${quote(bucket)}).collection(${quote(collection)})`;
  if (record !== undefined) {
    if (search !== '' || !['GET', 'DELETE'].includes(method)) return undefined;
    return [
      `const record = await ${records}.${method === 'GET' ? 'getRecord' : 'deleteRecord'}(${quote(record)});`,
      'console.log(record.data);',
    ];
  }
  const parameters = new URLSearchParams(search);
  const isSimple = [...parameters.keys()].every((key) => !key.startsWith('_') || ['_sort', '_limit'].includes(key));
  if (method !== 'GET' || !isSimple || new Set(parameters.keys()).size < parameters.size) return undefined;
  const filters = [...parameters].filter(([key]) => !key.startsWith('_'));
  const limit = parameters.get('_limit') ?? '';
  return [
    `const page = await ${records}.listRecords({`,
    ...inBraces(
      'filters',
      filters.map(([key, value]) => `${scriptQuote(key)}: ${scriptQuote(value)},`),
      '  ',
    ),
    ...(parameters.has('_sort') ? [`  sort: ${scriptQuote(parameters.get('_sort') ?? '')},`] : []),
    ...(/^\d{1,6}$/.test(limit) ? [`  limit: ${limit},`] : []),
    '});',
    'console.log(page.data);',
  ];
}
