//go:build !purego

#include "textflag.h"

DATA quotes<>+0(SB)/8, $0x2222222222222222
GLOBL quotes<>(SB), RODATA|NOPTR, $8
DATA slashes<>+0(SB)/8, $0x5C5C5C5C5C5C5C5C
GLOBL slashes<>(SB), RODATA|NOPTR, $8
DATA controls<>+0(SB)/8, $0x1F1F1F1F1F1F1F1F // the last of them
GLOBL controls<>(SB), RODATA|NOPTR, $8

// Sets AX to the bytes of the 32 at DI that do not stand for themselves.
#define STOPS \
	VMOVDQU   (DI), Y0   \
	VPCMPEQB  Y0, Y1, Y4 \
	VPCMPEQB  Y0, Y2, Y5 \
	VPMINUB   Y0, Y3, Y6 \
	VPCMPEQB  Y0, Y6, Y6 \
	VPOR      Y4, Y5, Y4 \
	VPOR      Y4, Y6, Y4 \
	VPMOVMSKB Y4, AX

// func plainAVX2(b []byte) (n int, wide bool)
TEXT ·plainAVX2(SB), NOSPLIT, $0-33
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	LEAQ -32(SI)(CX*1), DX // the last 32 bytes
	MOVQ SI, DI

	VPBROADCASTQ quotes<>(SB), Y1
	VPBROADCASTQ slashes<>(SB), Y2
	VPBROADCASTQ controls<>(SB), Y3
	VPXOR        Y7, Y7, Y7 // all bytes so far

loop:
	STOPS
	TESTL AX, AX
	JNZ   found
	VPOR  Y0, Y7, Y7
	ADDQ  $32, DI
	CMPQ  DI, DX
	JCS   loop

	// The last overlap others, among which there is nothing to find.
	MOVQ  DX, DI
	STOPS
	TESTL AX, AX
	JNZ   found
	VPOR  Y0, Y7, Y7
	VPMOVMSKB Y7, AX
	VZEROUPPER
	TESTL AX, AX
	SETNE wide+32(FP)
	MOVQ  CX, n+24(FP)
	RET

found:
	VPMOVMSKB Y7, BX
	VPMOVMSKB Y0, CX
	VZEROUPPER
	BLSMSKL AX, DX // up to the first
	ANDL    DX, CX
	ORL     BX, CX
	SETNE   wide+32(FP)
	TZCNTL  AX, AX
	ADDQ    AX, DI
	SUBQ    SI, DI
	MOVQ    DI, n+24(FP)
	RET
