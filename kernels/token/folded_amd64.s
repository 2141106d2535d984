//go:build !purego

#include "textflag.h"

// 'z' + letters and '9' + digits are 0x7F; larger sums wrap to negative numbers.
DATA small<>+0(SB)/8, $0x2020202020202020
GLOBL small<>(SB), RODATA|NOPTR, $8
DATA letters<>+0(SB)/8, $0x0505050505050505
GLOBL letters<>(SB), RODATA|NOPTR, $8
DATA belowA<>+0(SB)/8, $0x6565656565656565 // 'a' + 0x05 - 1
GLOBL belowA<>(SB), RODATA|NOPTR, $8
DATA digits<>+0(SB)/8, $0x4646464646464646
GLOBL digits<>(SB), RODATA|NOPTR, $8
DATA below0<>+0(SB)/8, $0x7575757575757575 // '0' + 0x46 - 1
GLOBL below0<>(SB), RODATA|NOPTR, $8

DATA del<>+0(SB)/8, $0x7f7f7f7f7f7f7f7f
GLOBL del<>(SB), RODATA|NOPTR, $8

DATA maskHigh<>+0(SB)/8, $0x452821e638d01377 // hash.maskHigh
GLOBL maskHigh<>(SB), RODATA|NOPTR, $8

// CLASSIFY sets mask, and Y8, to the bytes of data that are letters or digits, provided that they are ASCII.
#define CLASSIFY(data, mask) \
	VPADDB    data, Y4, Y8   \
	VPCMPGTB  Y5, Y8, Y8     \
	VPOR      data, Y1, Y9   \
	VPADDB    Y9, Y2, Y9     \
	VPCMPGTB  Y3, Y9, Y9     \
	VPOR      Y8, Y9, Y8     \
	VPMOVMSKB Y8, mask

// func foldedAVX2(dst []uint64, text []byte) (words, taken int)
TEXT ·foldedAVX2(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R9
	MOVQ text_base+24(FP), SI
	MOVQ text_len+32(FP), R8
	LEAQ -256(DI)(R9*8), R9 // last place with room for the 32 words that may end in a block
	LEAQ -72(SI)(R8*1), R8  // last block that 8 bytes follow

	VPBROADCASTQ small<>(SB), Y1
	VPBROADCASTQ letters<>(SB), Y2
	VPBROADCASTQ belowA<>(SB), Y3
	VPBROADCASTQ digits<>(SB), Y4
	VPBROADCASTQ below0<>(SB), Y5
	MOVQ         $0x2020202020202020, R10
	MOVQ         $0xc0ac29b7c97c50dd, R11 // hash.mulOut
	MOVQ         $0x243f6a8885a308d3, R12 // hash.maskLow
	MOVQ         $0xbe5466cf34e90c6c, R13 // hash.maskOut
	XORL         BX, BX                   // inside: 1 if a word is open
	XORL         CX, CX                   // start of the open word, relative to the block

block:
	CMPQ      SI, R8
	JHI       done
	CMPQ      DI, R9
	JHI       done
	VMOVDQU   (SI), Y6
	VMOVDQU   32(SI), Y7
	VPOR      Y6, Y7, Y8
	VPMOVMSKB Y8, AX
	TESTL     AX, AX
	JNZ       done
	CLASSIFY(Y6, AX)
	CLASSIFY(Y7, DX)
	SHLQ      $32, DX
	ORQ       DX, AX           // in
	LEAQ      (BX)(AX*2), R14  // before
	ANDNQ     AX, R14, DX      // starts
	ANDNQ     R14, AX, R14     // ends
	MOVQ      BX, R15
	MOVQ      AX, BX
	SHRQ      $63, BX
	MOVQ      DX, AX
	TESTQ     R15, R15
	JNZ       next
	TZCNTQ    AX, CX
	BLSRQ     AX, AX

next:
	TESTQ  R14, R14
	JZ     advance

word:
	TZCNTQ R14, DX
	MOVQ   DX, R15
	SUBQ   CX, R15             // length of the word
	CMPQ   R15, $8
	JHI    two
	MOVQ   (SI)(CX*1), DX
	ORQ    R10, DX
	LEAQ   (R15*8), CX
	BZHIQ  CX, DX, DX
	MOVQ   maskHigh<>(SB), CX
hash:
	XORQ   R12, DX
	MULXQ  CX, CX, DX
	XORQ   CX, DX
	XORQ   R13, DX
	XORQ   R15, DX
	MULXQ  R11, CX, DX
	XORQ   CX, DX
	MOVQ   DX, (DI)
	ADDQ   $8, DI
	TZCNTQ AX, CX
	BLSRQ  AX, AX
	BLSRQ  R14, R14
	JNZ    word

advance:
	ADDQ $64, SI
	SUBQ $64, CX
	JMP  block

two:
	CMPQ R15, $16
	JHI  long
	MOVQ (SI)(CX*1), CX
	MOVQ -8(SI)(DX*1), DX
	ORQ  R10, CX
	ORQ  R10, DX
	XCHGQ CX, DX
	XORQ maskHigh<>(SB), CX
	JMP  hash

long:
	ADDQ CX, SI
	JMP  end

done:
	TESTQ BX, BX
	JZ    end
	ADDQ  CX, SI

end:
	VZEROUPPER
	MOVQ dst_base+0(FP), AX
	SUBQ AX, DI
	SHRQ $3, DI
	MOVQ DI, words+48(FP)
	SUBQ text_base+24(FP), SI
	MOVQ SI, taken+56(FP)
	RET

// SYMBOLS sets mask to the visible bytes of data that are not letters or digits, provided that they are ASCII, and wide
// to the non-ASCII bytes.
#define SYMBOLS(data, mask, wide) \
	CLASSIFY(data, mask)     \
	VPCMPEQB  data, Y0, Y9   \
	VPOR      Y8, Y9, Y8     \
	VPCMPGTB  Y1, data, Y9   \
	VPANDN    Y9, Y8, Y8     \
	VPMOVMSKB Y8, mask       \
	VPMOVMSKB data, wide

// func symbolsAVX2(block *[blockBytes]byte) (symbols, wide uint64)
TEXT ·symbolsAVX2(SB), NOSPLIT, $0-24
	MOVQ         block+0(FP), SI
	VPBROADCASTQ del<>(SB), Y0
	VPBROADCASTQ small<>(SB), Y1 // also a space
	VPBROADCASTQ letters<>(SB), Y2
	VPBROADCASTQ belowA<>(SB), Y3
	VPBROADCASTQ digits<>(SB), Y4
	VPBROADCASTQ below0<>(SB), Y5
	VMOVDQU      (SI), Y6
	VMOVDQU      32(SI), Y7
	SYMBOLS(Y6, AX, CX)
	SYMBOLS(Y7, DX, BX)
	VZEROUPPER
	SHLQ         $32, DX
	ORQ          DX, AX
	SHLQ         $32, BX
	ORQ          BX, CX
	MOVQ         AX, symbols+8(FP)
	MOVQ         CX, wide+16(FP)
	RET
