// The public interface of the client.
export { basic, bearer, openIdLogin, openIdTokens } from './auth.ts';
export type { Auth, OpenIdLogin, OpenIdTokens } from './auth.ts';
export type { Attachment, UploadOptions } from './attachments.ts';
export { Coffer } from './client.ts';
export type { Bucket, Collection, Root } from './client.ts';
export { CofferError } from './errors.ts';
export type { ErrorFields, ErrorKind, Fault } from './errors.ts';
export type { Listing } from './listing.ts';
export type { ObjectList, PermissionsOfObject } from './object-list.ts';
export type { LiveTimes, TransportOptions as ClientOptions } from './transport.ts';
export type * from './types.ts';
export type { InputOf, OutputOf, Validator } from './validate.ts';
export { isRemoval, newId } from './values.ts';
