/** Where the command lies, for programs that run a gateway: `spawn(process.execPath, [command, "start"])`. */
export declare const command: string;

export declare const version: string;
