import { randomInt } from 'node:crypto';

/**
 * The header of a client that has an address of its own, which a demo of the tests
 * believes: what is limited by address is then a matter of what one client does,
 * and not of how quickly all that stand on this machine do it.
 */
export const ownAddress = () => ({ 'x-forwarded-for': `198.18.${randomInt(256)}.${randomInt(1, 255)}` });
